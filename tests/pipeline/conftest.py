"""One Spark session for all tests of the pipeline."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def spark():
    from trellis.pipeline.session import session

    return session("local[2]")

"""One Spark session for all tests of the pipeline."""

from __future__ import annotations

import pytest

from trellis.pipeline.session import session


@pytest.fixture(scope="session")
def spark():
    return session("local[2]")

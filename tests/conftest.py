"""What every kind of test shares."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what the stories say now into their files")


@pytest.fixture(scope="session")
def spark():
    """One Spark session for all tests, made when the first of them asks for it; set for small tables."""
    from trellis.pipeline.session import session

    return session("local[2]", {"spark.sql.shuffle.partitions": "2"})

"""What every kind of test shares."""

from __future__ import annotations

import signal

import pytest


def pytest_configure() -> None:
    """A shell that runs tests in its background lets them ignore interrupts, and so would every program that they
    start: some are interrupted on purpose.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write what the stories say now into their files")


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` runs tests/live, with its many processes and its bounds on time, and beside it what is marked and
    what is not, which step back for it. By files: their fixtures are made once.
    """
    on_spark = {item.path for item in items if "spark" in getattr(item, "fixturenames", ())}
    for item in items:
        if item.path in on_spark:
            item.add_marker("spark")


COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # as Spark has it
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


@pytest.fixture(scope="session")
def spark():
    """One Spark session for all tests, made when the first of them asks for it; set for small tables. Over these, to
    compile a query takes longer than to interpret it.
    """
    from trellis.pipeline.session import session

    return session("local[2]", {"spark.sql.shuffle.partitions": "2", **INTERPRETED})


@pytest.fixture(scope="module")
def compiled(spark):
    """The same session for tables that are not small: queries are compiled, as they are for whoever uses it."""
    for key, value in COMPILED.items():
        spark.conf.set(key, value)
    yield spark
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)

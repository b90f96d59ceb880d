"""Parquet tables in a directory: whole, or not there.

Promises: a table is written aside and put in its place by one rename, with a manifest of its files; what has none,
          or not the files that its manifest names, is never read: it is one clear PipelineError.
Assumes:  the directory is on a file system that driver and workers share (on one machine: any).
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from trellis.errors import PipelineError
from trellis.trace.whole import put

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MANIFEST = "_table.json"


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a whole table consists of."""

    table: str
    rows: int
    schema: str  # as Spark's DDL
    files: dict[str, int]  # name -> bytes
    about: dict[str, Any] = {}


def address(place: Path) -> str:
    """A path as Spark writes to it. It takes `%20` as it stands, so nothing may be quoted as in a URI."""
    return f"file://{place.absolute()}"


def pattern(place: Path) -> str:
    """A path as Spark reads from it: it takes some characters for patterns unless they are escaped."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", address(place))


def write(table: DataFrame, directory: Path, name: str, about: dict[str, Any] | None = None) -> Manifest:
    """Write a table, replacing one of the same name. `about` is kept in the manifest."""
    if (directory / name).exists() and not (directory / name).is_dir():
        raise PipelineError(f"{directory / name}: a file stands where the table goes; move it elsewhere")
    directory.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=directory))
    try:
        fresh = aside / "new"
        table.write.parquet(address(fresh))
        files = {path.name: path.stat().st_size for path in sorted(fresh.glob("part-*.parquet"))}
        rows = table.sparkSession.read.parquet(pattern(fresh)).count() if files else 0
        manifest = Manifest(name, rows, ddl(table), files, about or {})
        (fresh / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest, order="deterministic")))
        put(fresh, directory / name, aside / "old")
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return manifest


def ddl(table: DataFrame) -> str:
    return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in table.schema.fields)


def manifest_of(directory: Path, name: str) -> Manifest:
    """The manifest of a whole table."""
    place = directory / name
    if not place.is_dir():
        there = [entry.name for entry in sorted(directory.iterdir())] if directory.is_dir() else []
        known = [entry for entry in there if (directory / entry / MANIFEST).is_file()]
        raise PipelineError(f"{place}: there is no such table; {directory} has {', '.join(known) or 'none'}")
    try:
        manifest = msgspec.json.decode((place / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.MsgspecError, UnicodeError) as error:
        raise PipelineError(
            f"{place / MANIFEST}: cannot be read ({error}); the table is not whole, make it again"
        ) from None
    found = {path.name: path.stat().st_size for path in place.glob("part-*.parquet")}
    if found != manifest.files:
        wrong = sorted(set(found.items()) ^ set(manifest.files.items()))[0][0]
        raise PipelineError(f"{place / wrong}: not as the manifest says; the table is not whole, make it again")
    return manifest


def read(spark: SparkSession, directory: Path, name: str) -> DataFrame:
    """A whole table."""
    manifest = manifest_of(directory, name)
    place = directory / name
    if not manifest.files:
        return spark.createDataFrame([], manifest.schema)
    return spark.read.schema(manifest.schema).parquet(*(pattern(place / file) for file in manifest.files))

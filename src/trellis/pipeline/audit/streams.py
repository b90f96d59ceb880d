"""Sorted rows through Python tasks: Spark sorts them into files on disk, a task reads one file in slices of one key.

Promises: no more than one batch of rows is in memory; what a task makes is a file in the work directory, written whole.
Assumes:  a work directory that driver and workers share (on one machine: any).

Files, not `mapInArrow`: a task knows where one key ends and the next begins, and what it makes is mapped by others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from trellis.pipeline.audit.columns import partitions
from trellis.pipeline.audit.pasts import Numbers, Slice
from trellis.pipeline.tables import address, pattern

BATCH = 16_384  # rows


def through_tasks(
    table: DataFrame, keys: list[str], then: list[str], work: Path, name: str, task: Callable[[Path], None]
) -> None:
    """Rows of one key stand together in one file, sorted; each file is one task's."""
    place = work / name
    by_key = table.repartition(partitions(table), *keys).sortWithinPartitions(*keys, *then)
    by_key.write.option("compression", "lz4").parquet(address(place))
    files = sorted(place.glob("part-*.parquet"))
    if files:
        table.sparkSession.sparkContext.parallelize(files, len(files)).foreach(task)


def by_key(path: Path, *keys: str) -> Iterator[tuple[tuple[int, ...], Iterator[Slice]]]:
    """The slices of each key in a file, one key after the other."""
    for key, found in groupby(slices(path, keys), key=lambda item: item[0]):
        yield key, (part for _, part in found)


def slices(path: Path, keys: Iterable[str]) -> Iterator[tuple[tuple[int, ...], Slice]]:
    """Each batch of numbers, cut where a key changes."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            columns = {
                name: np.asarray(batch.column(name).to_numpy(zero_copy_only=False), np.int64)
                for name in batch.schema.names
            }
            changes = np.zeros(batch.num_rows - 1, bool)
            for key in keys:
                changes |= np.diff(columns[key]) != 0
            for start, end in pairwise([0, *(np.flatnonzero(changes) + 1).tolist(), batch.num_rows]):
                part = {name: cells[start:end] for name, cells in columns.items()}
                yield tuple(int(part[key][0]) for key in keys), part


class Findings:
    """A file of numbers that a task writes; it appears when it is whole, and not at all when there is nothing in it."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self.batches: list[pa.RecordBatch] = []

    def add(self, columns: list[Numbers]) -> None:
        cells = [pa.array(numbers).cast(field.type) for numbers, field in zip(columns, self.schema, strict=True)]
        self.batches.append(pa.RecordBatch.from_arrays(cells, schema=self.schema))

    def write(self) -> None:
        if self.batches:
            self.path.parent.mkdir(exist_ok=True)
            aside = self.path.with_suffix(f".{os.getpid()}")
            pq.write_table(pa.Table.from_batches(self.batches), aside)
            os.rename(aside, self.path)


def findings(table: DataFrame, work: Path, name: str, schema: pa.Schema) -> DataFrame:
    """What the tasks found, as a table."""
    names = {pa.int64(): "BIGINT", pa.int32(): "INT"}
    ddl = ", ".join(f"{field.name} {names[field.type]}" for field in schema)
    (work / name).mkdir(exist_ok=True)
    return table.sparkSession.read.schema(ddl).parquet(pattern(work / name))

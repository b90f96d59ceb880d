"""What is refused and what is dropped.

Promises: a line that is *malformed* (wrong columns, not a number, an end before its start) is refused: one
          PipelineError with file, line and rule. What is a *known trap* of this kind of data (a repeat, a wrong
          year, a missing parent) is dropped, and counted by reason with the first line as an example. Nothing is
          dropped silently: rows read = rows kept + rows dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from trellis.errors import PipelineError
from trellis.pipeline.ingest.source import Source, lines

WHOLE_MAX = 10**15  # of a whole number: ids, bytes, seconds since 1970
SECONDS_MAX = 10**9  # of a time in a trace: 31 years, and exact in microseconds as a double
SHOWN_MAX = 60  # characters of a value in a message
WHOLE = r"^[0-9]{1,18}$"
DECIMAL = r"^[0-9]{1,15}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$"


class Rule(NamedTuple):
    """What must hold of a line, and what to say where it does not."""

    holds: Column
    says: Column


@dataclass(frozen=True)
class Dropped:
    what: str
    reason: str
    count: int
    line: int


class Sieve:
    """One file on its way in. It holds the tables that are used twice, and counts what is dropped from them."""

    def __init__(self, spark: SparkSession, source: Source) -> None:
        self.spark = spark
        self.source = source
        self.lines = 0
        self.dropped: list[Dropped] = []

    def read(self) -> DataFrame:
        return lines(self.spark, self.source)

    def keep(self, table: DataFrame) -> DataFrame:
        """Hold a table that is used more than once, and forget how it was made.

        A cached table would do, but Spark then plans every later step from the file on: seconds each. Held blocks go
        when Python lets go of the table; a worker that is lost takes its own along, and the ingest ends with an error.
        """
        return table.localCheckpoint(eager=False, storageLevel=StorageLevel.MEMORY_AND_DISK)

    def refuse(self, table: DataFrame, *rules: Rule) -> DataFrame:
        """The table without its `wrong` column, if no line is wrong. Columns of the rules must be in it."""
        broken = [F.when(~F.coalesce(rule.holds, F.lit(False)), rule.says) for rule in rules]
        judged = self.keep(table.withColumn("wrong", F.coalesce("wrong", *broken)))
        first = F.min(F.when(F.col("wrong").isNotNull(), F.struct("line", "wrong")))
        seen = judged.agg(first.alias("first"), F.max("line").alias("last"), F.count("wrong").alias("wrongs")).first()
        assert seen is not None
        if seen.first is not None:
            raise PipelineError(f"{self.source.path}: line {seen.first.line}: {seen.first.wrong}")
        self.lines = max(self.lines, seen.last or 0)
        return judged.drop("wrong")

    def not_empty(self, table: DataFrame, what: str) -> DataFrame:
        if table.isEmpty():
            raise PipelineError(f"{self.source.path}: there is no {what} in it; give a trace with at least one")
        return table

    def drop(self, table: DataFrame, what: str, reasons: dict[str, Column]) -> DataFrame:
        """The table without the rows to which a reason applies; each counts under the first that does."""
        why = F.coalesce(*[F.when(holds, F.lit(reason)) for reason, holds in reasons.items()])
        judged = self.keep(table.withColumn("why", why))
        self.count_drops(judged, what, list(reasons))
        return judged.where("why is null").drop("why")

    def count_drops(self, judged: DataFrame, what: str, reasons: list[str]) -> None:
        """Count by the column `why`, in the order in which the reasons are given."""
        found = judged.where("why is not null").groupBy("why").agg(F.count("*"), F.min("line")).collect()
        self.dropped += sorted((Dropped(what, *row) for row in found), key=lambda d: reasons.index(d.reason))


def cells(read: DataFrame, names: tuple[str, ...], header: bool = True) -> DataFrame:
    """Tab-separated columns by name. The first line must be the header, if there has to be one."""
    cut = F.split("text", "\t", -1)
    titles = "\t".join(names)
    problem = F.coalesce(
        "wrong",
        F.when(
            F.lit(header) & (F.col("line") == 1) & (F.col("text") != titles),
            F.concat(F.lit("the header is "), shown(F.col("text")), F.lit(f"; expected {' '.join(names)} (tabs)")),
        ),
        F.when(
            F.size(cut) != len(names),
            F.concat(F.lit("it has "), F.size(cut), F.lit(f" columns; expected {len(names)}: {' '.join(names)}")),
        ),
    )
    table = read.select("line", problem.alias("wrong"), *[F.get(cut, F.lit(i)).alias(n) for i, n in enumerate(names)])
    return table.where("line > 1 or wrong is not null") if header else table


def shown(value: Column) -> Column:
    return F.concat(F.lit("'"), F.substring(F.coalesce(value, F.lit("")), 1, SHOWN_MAX), F.lit("'"))


def wrong(name: str, value: Column, rule: str) -> Column:
    return F.concat(F.lit(f"{name} = "), shown(value), F.lit(f": {rule}; correct or remove the line"))


def whole(name: str, most: int = WHOLE_MAX, least: int = 0, optional: bool = False) -> Rule:
    """The column is a whole number."""
    value = F.col(name)
    holds = value.rlike(WHOLE) & value.try_cast("bigint").between(least, most)
    rule = f"expected a whole number from {least} to {most}"
    return Rule(holds | (value == "") if optional else holds, wrong(name, value, rule))


def decimal(name: str, most: int) -> Rule:
    """The column is a number of at least 0, written in digits."""
    value = F.col(name)
    rule = f"expected a number from 0 to {most}, in digits"
    return Rule(value.rlike(DECIMAL) & (value.try_cast("double") <= most), wrong(name, value, rule))


def among(name: str, *words: str) -> Rule:
    value = F.col(name)
    return Rule(value.isin(*words), wrong(name, value, f"expected one of {', '.join(words)}"))


def given(name: str) -> Rule:
    """The column is not empty."""
    return Rule(F.col(name) != "", wrong(name, F.col(name), "it must not be empty"))


def must(holds: Column, name: str, rule: str) -> Rule:
    return Rule(holds, wrong(name, F.col(name).cast("string"), rule))


def number(name: str) -> Column:
    """A checked whole number. A null only where the column may be empty."""
    return F.col(name).try_cast("bigint").alias(name)

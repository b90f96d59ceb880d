"""Chat lines with reply links.

Source:   the disentanglement corpus of Kummerfeld et al. 2019 as a table: `file idx t_sec user kind chars annotated
          parents`; parents are idx of the same file, t_sec counts from the midnight before the file's first line.
Promises: a topic per file, ordered by idx (clocks have minutes only); a node per user of a channel, since users are
          numbered per channel; `bytes` are characters.
Dropped:  system lines (join, part: no user, no time) and their links; with `annotated`, the context lines before the
          annotated part, which were never looked at for parents; the links of `discussion`.
Refused:  anything else in a column; a message without time; an idx twice in a file.
"""

from __future__ import annotations

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest.discussion import MESSAGE, published
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sieve import SECONDS_MAX, Sieve, among, cells, given, must, number, whole
from trellis.pipeline.ingest.statistics import SECOND

HEADER = ("file", "idx", "t_sec", "user", "kind", "chars", "annotated", "parents")
UBUNTU = ("train", "dev", "test")  # folders whose files are days of one channel


def take(sieve: Sieve, options: Options) -> Clean:
    raw = cells(sieve.read(), HEADER)
    again = F.row_number().over(Window.partitionBy("file", "idx").orderBy("line"))
    message = F.col("kind") == "m"
    rows = sieve.refuse(
        raw.withColumn("again", again),
        given("file"),
        whole("idx"),
        whole("t_sec", SECONDS_MAX, optional=True),
        whole("user"),
        among("kind", "m", "s"),
        whole("chars"),
        among("annotated", "0", "1"),
        must(F.col("parents").rlike(r"^([0-9]{1,18}(,[0-9]{1,18})*)?$"), "parents", "expected numbers and commas"),
        must(~message | (F.col("t_sec") != ""), "t_sec", "a message has a time"),
        must(F.col("again") == 1, "idx", "the file has a line with it already"),
    )
    sieve.not_empty(rows, "line")
    keys = F.filter(F.split("parents", ","), lambda key: key != "")
    channel = channel_of(F.col("file"))
    messages = rows.select(
        "line",
        F.col("file").alias("group"),
        number("idx").alias("key"),
        number("idx").alias("turn"),
        F.col("file").alias("name"),
        F.concat_ws("/", channel, "user").alias("user"),
        (number("t_sec") * SECOND).alias("at"),
        number("chars").alias("bytes"),
        F.transform(keys, lambda key: key.try_cast("bigint")).alias("parents"),
        channel.alias("channel"),
        number("user").alias("user_number"),
        "kind",
        "annotated",
    )
    reasons = {"system line": F.col("kind") == "s"}
    if options["annotated"]:
        reasons["context, not annotated"] = F.col("annotated") == "0"
    clean = published(sieve, messages, reasons, ("channel", "user_number"))
    context = rows.where(message & (F.col("annotated") == "0")).count()
    clean.statistics["context_messages_as_read"] = context
    return clean


def channel_of(file: Column) -> Column:
    """The channel: most folders are one; `new-domains` names it in the file."""
    folder, name = F.split_part(file, F.lit("/"), F.lit(1)), F.split_part(file, F.lit("/"), F.lit(2))
    return (
        F.when(folder.isin(*UBUNTU), F.lit("ubuntu"))
        .when(folder == "new-domains", F.regexp_extract(name, r"^[A-Za-z]+(-[A-Za-z]+)*", 0))
        .otherwise(folder)
    )


assert {"line", "group", "key", "turn", "name", "user", "at", "bytes", "parents"} == set(MESSAGE)

KIND = Kind(about="chat lines with reply links", options={"annotated": False}, take=take)

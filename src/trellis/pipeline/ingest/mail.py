"""Mails on lists with reply links.

Source:   a table `msg unix_time list sender parent_msg is_reply bytes`, as from a mail archive's headers.
Promises: a topic per list (mail without a list header is on the topic `-`), ordered by time; a node per sender.
Dropped:  mails dated before the year `since` or after the year `until` (a sender's clock); the links of `discussion`.
Stated:   `replies_without_parent`: replies whose parent is not in the archive; they are kept without a link.
Refused:  anything else in a column; a msg twice.
"""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest.discussion import published
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sieve import Sieve, among, cells, given, must, number, whole
from trellis.pipeline.ingest.statistics import SECOND
from trellis.pipeline.ingest.years import not_between

HEADER = ("msg", "unix_time", "list", "sender", "parent_msg", "is_reply", "bytes")
UNIX_MAX = 1 << 33  # the year 2242
NO_LIST = "-"


def take(sieve: Sieve, options: Options) -> Clean:
    again = F.row_number().over(Window.partitionBy("msg").orderBy("line"))
    rows = sieve.refuse(
        cells(sieve.read(), HEADER).withColumn("again", again),
        whole("msg"),
        whole("unix_time", UNIX_MAX),
        given("list"),
        whole("sender"),
        whole("parent_msg", optional=True),
        among("is_reply", "0", "1"),
        whole("bytes"),
        must(F.col("again") == 1, "msg", "there is a mail with it already"),
    )
    sieve.not_empty(rows, "mail")
    parent = number("parent_msg")
    messages = rows.select(
        "line",
        F.lit(0).alias("group"),
        number("msg").alias("key"),
        number("unix_time").alias("turn"),
        F.col("list").alias("name"),
        F.col("sender").alias("user"),
        (number("unix_time") * SECOND).alias("at"),
        number("bytes"),
        F.when(parent.isNotNull(), F.array(parent)).otherwise(F.array().cast("array<bigint>")).alias("parents"),
        number("sender").alias("user_number"),
    )
    clean = published(sieve, messages, not_between("at", options), ("user_number",))
    found = rows.agg(
        F.count_if(F.col("is_reply") == "1").alias("replies"),
        F.count_if((F.col("is_reply") == "1") & (F.col("parent_msg") == "")).alias("replies_without_parent"),
        F.count_if(F.col("list") == NO_LIST).alias("without_list"),
        F.count_distinct(F.when(F.col("list") != NO_LIST, F.col("list"))).alias("named_lists"),
    ).first()
    assert found is not None
    clean.statistics["as_read"] |= found.asDict()
    return clean


KIND = Kind(about="mails on lists with reply links", options={"since": 1990, "until": 2005}, take=take)

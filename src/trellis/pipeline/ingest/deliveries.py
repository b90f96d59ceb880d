"""Mails that were delivered to named recipients, with topics.

Source:   the Enron corpus as a table: `time sender recipient reciptype topic ldc_topic`, one row per delivery
          and label.
Promises: a message is what one sender sent at one time: `publications` on one topic each (the lowest of its LDC topics
          from 1 on; else 0, outlier; else -1, none), `deliveries` to its recipients, and `subscriptions`: who ever
          received or sent a message on a topic. `names` are the numbers of the LDC topics; times are taken as UTC.
Dropped:  rows dated before the year `since` or after `until`, bcc rows (they repeat the cc rows), rows of a sender to
          itself, repeats of (time, sender, recipient), whatever their labels.
Refused:  anything else in a column.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest.ids import in_topics, numbered
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sieve import Sieve, among, cells, must, number, whole
from trellis.pipeline.ingest.statistics import degrees, spread
from trellis.pipeline.ingest.years import not_between

HEADER = ("time", "sender", "recipient", "reciptype", "topic", "ldc_topic")
MESSAGE = ("at", "sender")


def take(sieve: Sieve, options: Options) -> Clean:
    at = F.unix_micros(F.try_to_timestamp("time", F.lit("yyyy-MM-dd HH:mm:ss")))
    rows = sieve.refuse(
        cells(sieve.read(), HEADER).withColumn("at", at),
        must(F.col("at").isNotNull(), "time", "expected yyyy-mm-dd hh:mm:ss"),
        whole("sender"),
        whole("recipient"),
        among("reciptype", "to", "cc", "bcc"),
        whole("topic"),
        must(F.col("ldc_topic").rlike("^(-1|[0-9]{1,9})$"), "ldc_topic", "expected a whole number, or -1 for none"),
    )
    sieve.not_empty(rows, "delivery")
    labelled = rows.select("line", "at", number("sender"), number("recipient"), "reciptype", number("ldc_topic"))
    counted = sieve.drop(
        labelled,
        "row",
        {
            **not_between("at", options),
            "bcc": F.col("reciptype") == "bcc",
            "to oneself": F.col("sender") == F.col("recipient"),
        },
    )
    again = F.row_number().over(Window.partitionBy(*MESSAGE, "recipient").orderBy("line")) > 1
    kept = sieve.drop(counted.withColumn("again", again), "row", {"repeat": F.col("again")})
    sieve.not_empty(kept, "delivery that counts")
    return tables(sieve, kept, sieve.keep(labels(counted)))


def labels(counted: DataFrame) -> DataFrame:
    """The topic of each message, and how many named ones it had."""
    label = F.col("ldc_topic")
    rank = F.struct(F.when(label > 0, 0).when(label == 0, 1).otherwise(2).alias("rank"), label)
    named = F.count_distinct(F.when(label > 0, label))
    return counted.groupBy(*MESSAGE).agg(F.min(rank).getField("ldc_topic").alias("label"), named.alias("named"))


def tables(sieve: Sieve, kept: DataFrame, labelled: DataFrame) -> Clean:
    people = kept.select(F.col("sender").alias("user")).union(kept.select(F.col("recipient").alias("user")))
    nodes = sieve.keep(numbered(people, "node", "user"))
    topics = sieve.keep(numbered(labelled.select("label"), "topic", "label"))
    source = nodes.select(F.col("user").alias("sender"), F.col("node").alias("source"))
    messages = labelled.join(F.broadcast(topics), "label").join(F.broadcast(source), "sender")
    messages = sieve.keep(in_topics(messages, "at", "source"))
    recipient = nodes.select(F.col("user").alias("recipient"), "node")
    received = kept.join(messages.select(*MESSAGE, "id", "topic"), [*MESSAGE]).join(F.broadcast(recipient), "recipient")
    received = sieve.keep(received.select("id", "topic", "node"))
    sent = messages.select("topic", F.col("source").alias("node"))
    subscriptions = sieve.keep(received.select("topic", "node").union(sent).distinct())
    publications = messages.withColumns({"parents": F.array().cast("array<bigint>"), "bytes": F.lit(None)})
    statistics = {
        "deliveries": received.count(),
        "messages": messages.count(),
        "nodes": nodes.count(),
        "senders": messages.select("source").distinct().count(),
        "topics": topics.count(),
        "messages_with_several_named_topics": messages.where("named > 1").count(),
        "recipients_per_message": spread(received.groupBy("id").agg(F.count("*").alias("n")), "n"),
        "subscriptions_per_node": degrees(subscriptions, "node"),
        "subscribers_per_topic": degrees(subscriptions, "topic"),
    }
    return Clean(
        {
            "nodes": nodes.select("node", F.col("user").alias("name")),
            "names": topics.select("topic", F.col("label").alias("name")),
            "subscriptions": subscriptions,
            "publications": publications,
            "deliveries": received,
        },
        statistics,
    )


KIND = Kind(about="mails delivered to recipients, with topics", options={"since": 1998, "until": 2005}, take=take)

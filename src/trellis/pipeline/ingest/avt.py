"""An availability trace: when each node was up.

Source:   the .avt format of Godfrey's repository of availability traces: `name n start end start end ...` in seconds
          from the trace's beginning, one node per line, by tabs or blanks; a node is up in [start, end).
Promises: `sessions` in the trace's own time, and `nodes` by name; nodes that were never up have a number too.
Dropped:  with `merge_gaps`, sessions that only a gap of at most so many seconds parts from the one before (a missed
          probe); with `from`, sessions that ended by then (ramp-up). One that lasts beyond it is cut, and counted.
Refused:  a count that is not the line's, times that are negative or no numbers, an end before its start, sessions
          that overlap, a second line of a node.
Stated:   `censored`: sessions that begin or end within `edge` seconds of the trace's own edges began earlier or ended
          later in truth. `of_length_0`: a node that a single probe saw.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from trellis.pipeline.ingest.ids import numbered
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.sieve import DECIMAL, SECONDS_MAX, Rule, Sieve, shown, whole, wrong
from trellis.pipeline.ingest.statistics import SECOND, online, rounded, spread


def take(sieve: Sieve, options: Options) -> Clean:
    rows = read(sieve)
    nodes = sieve.keep(numbered(rows.select("name"), "node", "name"))
    pair = F.explode(
        F.expr("transform(sequence(0, size(times) - 2, 2), i -> struct(times[i] start, times[i + 1] end))")
    )
    sessions = rows.where(F.size("times") > 0).select("line", "name", pair.alias("s")).join(nodes, "name")
    sessions = sieve.keep(sessions.select("line", "node", F.col("s.start").alias("start"), F.col("s.end").alias("end")))
    sieve.not_empty(sessions, "session")
    statistics: dict[str, Any] = {"nodes": nodes.count()}
    if options["merge_gaps"] is not None:
        sessions = merged(sieve, sessions, microseconds(options["merge_gaps"]), options["merge_gaps"])
    if options["from"] is not None:
        start = microseconds(options["from"])
        sessions = sieve.drop(sessions, "session", {f"ended by {options['from']:g} s": F.col("end") <= start})
        sieve.not_empty(sessions, f"session after {options['from']:g} s")
        statistics["cut_at_from"] = sessions.where(F.col("start") < start).count()
        sessions = sessions.withColumn("start", F.greatest("start", F.lit(start)))
    return Clean({"nodes": nodes, "sessions": sessions}, statistics | figures(sessions, microseconds(options["edge"])))


def microseconds(seconds: float) -> int:
    return round(seconds * SECOND)


def read(sieve: Sieve) -> DataFrame:
    """(line, name, times): the times in microseconds, ascending, a start before each end."""
    cut = F.split(F.trim("text"), r"\s+")
    numbers = F.slice(cut, 3, F.greatest(F.size(cut) - 2, F.lit(0)))
    times = F.transform("numbers", lambda t: F.round(t.try_cast("double") * SECOND).try_cast("bigint"))
    raw = sieve.read().select(
        "line",
        "wrong",
        F.get(cut, F.lit(0)).alias("name"),
        F.coalesce(F.get(cut, F.lit(1)), F.lit("")).alias("sessions"),
        numbers.alias("numbers"),
    )
    table = raw.withColumn("times", times)
    strange = F.get(
        F.filter("numbers", lambda t: ~(t.rlike(DECIMAL) & (t.try_cast("double") <= SECONDS_MAX))), F.lit(0)
    )
    back = F.get(
        F.expr("filter(sequence(1, greatest(size(times) - 1, 1)), i -> get(times, i) < times[i - 1])"), F.lit(0)
    )
    twice = F.row_number().over(Window.partitionBy("name").orderBy("line"))
    table = table.withColumns({"strange": strange, "back": back, "time": twice})
    return sieve.refuse(
        table,
        whole("sessions"),
        Rule(
            F.size("numbers") == 2 * F.col("sessions").try_cast("bigint"),
            F.concat(
                shown(F.col("sessions")),
                F.lit(" sessions, but "),
                F.size("numbers"),
                F.lit(" times; expected two each"),
            ),
        ),
        Rule(F.isnull("strange"), wrong("time", F.col("strange"), f"expected seconds from 0 to {SECONDS_MAX}")),
        Rule(F.isnull("back"), backward(F.col("back"))),
        Rule(F.col("time") == 1, wrong("node", F.col("name"), "it has a line already")),
    ).select("line", "name", "times")


def backward(i: Column) -> Column:
    """Times that do not ascend: which of the two it is depends on the place."""
    late, early = F.get("numbers", i - 1), F.get("numbers", i)
    return F.when(
        i % 2 == 1, F.concat(F.lit("a session ends at "), early, F.lit(", before its start at "), late)
    ).otherwise(
        F.concat(
            F.lit("a session starts at "),
            early,
            F.lit(", before the one before it ends at "),
            late,
            F.lit(": they overlap"),
        )
    )


def merged(sieve: Sieve, sessions: DataFrame, gap: int, seconds: float) -> DataFrame:
    """Sessions of a node with at most this gap between them as one."""
    order = Window.partitionBy("node").orderBy("start", "end")
    joins = F.coalesce(F.col("start") - F.lag("end").over(order) <= gap, F.lit(False))
    marked = sessions.withColumn("joins", joins)
    group = F.sum(F.when(F.col("joins"), 0).otherwise(1)).over(order)
    grouped = marked.withColumn("group", group).groupBy("node", "group")
    sieve.drop(marked, "session", {f"merged over a gap of at most {seconds:g} s": F.col("joins")})
    one = grouped.agg(F.min("line").alias("line"), F.min("start").alias("start"), F.max("end").alias("end"))
    return sieve.keep(one)


def figures(sessions: DataFrame, edge: int) -> dict[str, Any]:
    gap = F.col("start") - F.lag("end").over(Window.partitionBy("node").orderBy("start", "end"))
    length = F.col("end") - F.col("start")
    up = online(sessions)
    first, last = microseconds(up["first_s"]), microseconds(up["last_s"])
    counts = sessions.agg(
        F.count("*").alias("sessions"),
        F.count_distinct("node").alias("nodes_with_sessions"),
        F.count_if(length == 0).alias("of_length_0"),
        F.count_if(F.col("start") <= first + edge).alias("start"),
        F.count_if(F.col("end") >= last - edge).alias("end"),
    ).first()
    assert counts is not None
    return {
        "nodes_with_sessions": counts.nodes_with_sessions,
        "sessions": counts.sessions,
        **up,
        "online_share": rounded(up["online_mean"] / counts.nodes_with_sessions),
        "session_s": spread(sessions, length, SECOND),
        "gap_s": spread(sessions.select(gap.alias("gap")), "gap", SECOND),
        "of_length_0": counts.of_length_0,
        "censored": {"edge_s": rounded(edge / SECOND), "start": counts.start, "end": counts.end},
    }


KIND = Kind(
    about="when each node was up: an availability trace",
    options={"merge_gaps": None, "from": None, "edge": 400.0},
    take=take,
)

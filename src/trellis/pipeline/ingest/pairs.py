"""Round-trip times between named places.

Source:   the WonderNetwork table: `src dst avg_ms min_ms max_ms mdev_ms distance_km`, one ordered pair per line.
Promises: `latencies` from avg_ms and mdev_ms, `nodes` by name, and `latencies.csv` when no pair is missing.
Stated:   `with_commas`: lines with thousands written as 1,407.07, which are read as they are meant.
Dropped:  pairs of a place with itself; with `complete`, the pairs of places that are given up, one after the other,
          the one with the most missing pairs first, until no pair is missing.
Refused:  anything else in a column, an average outside its own minimum and maximum, a pair twice.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from trellis.errors import PipelineError
from trellis.pipeline.ingest.ids import numbered
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.latency import RTT_MS_MAX, figures, half, matrix_file, one_way
from trellis.pipeline.ingest.sieve import Rule, Sieve, cells, decimal, given, must, shown

HEADER = ("src", "dst", "avg_ms", "min_ms", "max_ms", "mdev_ms", "distance_km")
GROUPED = r"^[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$"
TIMES = ("avg_ms", "min_ms", "max_ms", "mdev_ms")
PLACES_MAX = 3_000  # whose missing pairs the driver can hold


def take(sieve: Sieve, options: Options) -> Clean:
    low, average, high = (F.col(f"{name}_ms").try_cast("double") for name in ("min", "avg", "max"))
    again = F.row_number().over(Window.partitionBy("src", "dst").orderBy("line"))
    raw = cells(sieve.read(), HEADER)
    commas = reduce(or_, [F.col(name).rlike(GROUPED) for name in TIMES])
    plain = {n: F.when(F.col(n).rlike(GROUPED), F.replace(n, F.lit(","))).otherwise(F.col(n)) for n in TIMES}
    rows = sieve.refuse(
        raw.withColumns({"again": again, "commas": commas, **plain}),
        given("src"),
        given("dst"),
        *[decimal(name, RTT_MS_MAX) for name in TIMES],
        decimal("distance_km", 50_000),
        must((low <= average) & (average <= high), "avg_ms", "expected it between min_ms and max_ms"),
        Rule(
            F.col("again") == 1,
            F.concat(
                F.lit("the pair "), shown(F.concat_ws(" ", "src", "dst")), F.lit(" has a line already; remove one")
            ),
        ),
    )
    pairs = sieve.drop(rows, "pair", {"a place with itself": F.col("src") == F.col("dst")})
    sieve.not_empty(pairs, "pair")
    statistics = {
        "as_read": {
            "pairs": pairs.count(),
            "with_commas": pairs.where("commas").count(),
            "places": places(pairs).count(),
        }
    }
    missing = missing_pairs(pairs) if statistics["as_read"]["places"] <= PLACES_MAX else None
    if missing is not None:
        lacking = {place for pair in missing for place in pair}
        statistics["as_read"] |= {
            "missing_pairs": len(missing),
            "places_with_every_pair": statistics["as_read"]["places"] - len(lacking),
        }
    if options["complete"]:
        if missing is None:
            raise PipelineError(
                f"--complete: {statistics['as_read']['places']} places; it works for at most {PLACES_MAX}"
            )
        gone = given_up(missing)
        if gone:
            pairs = sieve.drop(
                pairs, "pair", {"of a place that lacks others": F.col("src").isin(*gone) | F.col("dst").isin(*gone)}
            )
        sieve.not_empty(pairs, "pair between places that lack none")
        statistics["as_read"]["places_given_up"] = len(gone)
    nodes = sieve.keep(numbered(places(pairs), "node", "name"))
    ends = [nodes.select(F.col("node").alias(f"{end}_id"), F.col("name").alias(end)) for end in ("src", "dst")]
    joined = pairs.join(F.broadcast(ends[0]), "src").join(F.broadcast(ends[1]), "dst")
    rtt, deviation = F.col("avg_ms").try_cast("double"), F.col("mdev_ms").try_cast("double")
    timed = joined.select(
        F.col("src_id").alias("src"),
        F.col("dst_id").alias("dst"),
        rtt.alias("rtt_ms"),
        one_way(rtt).alias("one_way"),
        half(deviation).alias("deviation"),
    )
    latencies = sieve.keep(timed)
    found = figures(latencies, nodes.count())
    extra = (lambda fresh: matrix_file(latencies, fresh)) if found["complete"] else None
    return Clean({"nodes": nodes, "latencies": latencies}, {**found, **statistics}, extra)


def places(pairs: DataFrame) -> DataFrame:
    return pairs.select(F.col("src").alias("name")).union(pairs.select(F.col("dst").alias("name"))).distinct()


def missing_pairs(pairs: DataFrame) -> list[tuple[str, str]]:
    """Ordered pairs of different places that have no line, sorted."""
    named = places(pairs)
    all_pairs = named.withColumnRenamed("name", "src").crossJoin(named.withColumnRenamed("name", "dst"))
    rows = all_pairs.where("src != dst").join(pairs, ["src", "dst"], "left_anti").collect()
    return sorted((row.src, row.dst) for row in rows)


def given_up(missing: list[tuple[str, str]]) -> list[str]:
    """Places without which no pair is missing; of equals the last by name goes first."""
    gone = []
    while missing:
        lacks: dict[str, int] = {}
        for pair in missing:
            for place in pair:
                lacks[place] = lacks.get(place, 0) + 1
        worst = max(lacks, key=lambda place: (lacks[place], place))
        gone.append(worst)
        missing = [pair for pair in missing if worst not in pair]
    return sorted(gone)


KIND = Kind(about="round-trip times between named places", options={"complete": False}, take=take)

"""A square matrix of round-trip times without names.

Source:   the PlanetLab and Seattle matrices of Zhu et al. 2017: a row per line, by tabs or blanks.
Promises: `latencies` of all pairs, `nodes` named by their row from 1, and `latencies.csv` for a scenario's network.
Dropped:  times of a node to itself that are not 0.
Refused:  rows of another length than there are rows; what is no number of at least 0, or more than an hour.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from trellis.errors import PipelineError
from trellis.pipeline.ingest.kind import Clean, Kind, Options
from trellis.pipeline.ingest.latency import RTT_MS_MAX, figures, matrix_file, one_way
from trellis.pipeline.ingest.sieve import DECIMAL, Rule, Sieve, wrong

UNITS = {"ms": 1, "s": 1000}  # milliseconds in it


def take(sieve: Sieve, options: Options) -> Clean:
    if options["unit"] not in UNITS:
        raise PipelineError(f"--unit {options['unit']}: no such unit; there are {', '.join(UNITS)}")
    scale = UNITS[options["unit"]]
    cut = F.split(F.trim("text"), r"\s+")
    rows = sieve.keep(sieve.read().select("line", "wrong", cut.alias("cells")))
    count = rows.where("wrong is null").count()
    strange = F.filter("cells", lambda t: ~(t.rlike(DECIMAL) & (t.try_cast("double") * scale <= RTT_MS_MAX)))
    square = sieve.refuse(
        rows,
        Rule(
            F.size("cells") == count,
            F.concat(
                F.lit("it has "),
                F.size("cells"),
                F.lit(f" cells, but there are {count} lines: the matrix is not square"),
            ),
        ),
        Rule(
            F.size(strange) == 0,
            wrong(
                "cell", F.get(strange, F.lit(0)), f"expected a number from 0 to {RTT_MS_MAX // scale} {options['unit']}"
            ),
        ),
    )
    cells = square.select("line", (F.col("line") - 1).alias("src"), F.posexplode("cells").alias("dst", "cell"))
    timed = cells.withColumn("rtt_ms", F.col("cell").try_cast("double") * scale)
    self_time = (F.col("src") == F.col("dst")) & (F.col("rtt_ms") > 0)
    pairs = sieve.drop(timed, "cell", {"a node's time to itself is not 0": self_time}).where("src != dst")
    sieve.not_empty(pairs, "pair")
    latencies = pairs.select("src", "dst", one_way(F.col("rtt_ms")).alias("one_way"), F.lit(None).alias("deviation"))
    nodes = square.select((F.col("line") - 1).alias("node"), F.col("line").cast("string").alias("name"))
    return Clean(
        {"nodes": nodes, "latencies": latencies}, figures(pairs, count), lambda fresh: matrix_file(latencies, fresh)
    )


KIND = Kind(about="a square matrix of round-trip times", options={"unit": "ms"}, take=take)

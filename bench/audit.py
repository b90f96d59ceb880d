"""Audit a trace of 50 million deliveries on Spark, on two cores and within 8 GiB, with three violations planted in it.

    python bench/audit.py [--rows 50000000] [--master local[2]] [--heap 4g] [--json]

The world: 100 nodes, ten topics that all have joined, 20 publishers. In each round the publishers speak at once, and
each node then delivers the round in an order of its own; a round happens after the one before it. The figures are
seconds per audit, the peak of resident memory of all processes together, and the seconds of DuckDB for the audits that
one plain query can say, in the same run. True happened-before is not one of them: DuckDB has no counterpart to it here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from trellis.audit import PROMISES
from trellis.pipeline.audit import Case
from trellis.pipeline.audit.columns import IN_ORDER, witness_of
from trellis.pipeline.session import session
from trellis.trace.rows import COLUMNS, arrow_schema, arrow_type, spark_ddl

NODES, TOPICS, SOURCES = 100, 10, 20
ROUNDS_AT_ONCE = 250
RESIDENT_MAX = 8 << 30
EACH_ROUND = SOURCES + NODES * SOURCES  # rows
KINDS = ["confirm", "publish", "deliver"]
CONFIRM, PUBLISH, DELIVER = range(3)

# The same questions in DuckDB.
QUERIES = {
    "creation": """SELECT count(*) FROM (SELECT * FROM t WHERE kind = 'deliver') ANTI JOIN
        (SELECT topic, source, incarnation, seq FROM t WHERE kind = 'publish')
        USING (topic, source, incarnation, seq)""",
    "duplicate": """SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY node, topic, source, incarnation, seq
        ORDER BY position) AS n FROM t WHERE kind = 'deliver') WHERE n > 1""",
    "fifo": """SELECT count(*) FROM (SELECT seq, max(seq) OVER (PARTITION BY node, topic, source, incarnation
        ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM t WHERE kind = 'deliver')
        WHERE seq < before""",
}


def rounds(first: int, last: int) -> np.ndarray[Any, Any]:
    """The rows of some rounds as (position, node, kind, topic, source, seq), in order of position.

    Positions leave room between any two rows, for what is planted.
    """
    k = np.arange(first, last)[:, None]
    step, node = (a.ravel() for a in np.meshgrid(np.arange(SOURCES), np.arange(NODES), indexing="ij"))
    who = np.concatenate([np.arange(SOURCES), node])
    source = np.concatenate([np.broadcast_to(np.arange(SOURCES), (len(k), SOURCES)), (step + node + k) % SOURCES], 1)
    kind = np.concatenate([np.full(SOURCES, PUBLISH), np.full(NODES * SOURCES, DELIVER)])
    position = TOPICS * NODES + k * EACH_ROUND + np.arange(EACH_ROUND)
    cells = np.broadcast_arrays(position * 2, who, kind, k % TOPICS, source, k // TOPICS + 1)
    return np.stack([np.ascontiguousarray(c).ravel() for c in cells])


def plant(rows: np.ndarray[Any, Any], first: int, last: int, count: int) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Spoil these rounds if they are those in the middle; what was planted comes back in words."""
    middle = count // 2 // ROUNDS_AT_ONCE * ROUNDS_AT_ONCE
    if not first <= middle < last:
        return rows, []
    middle += (-middle) % TOPICS
    seq = middle // TOPICS + 1
    # A second delivery, right after the first; and two that come a round late: after the source's next message, and
    # after others of that round only.
    again, late, later = (place_of(rows, node, source, seq) for node, source in ((27, 7), (28, 8), (29, 4)))
    after = place_of(rows, 28, 8, seq + 1)
    next_own = place_of(rows, 29, 4, seq + 1)  # not the first that node 29 delivers of any such round
    mine = np.flatnonzero((rows[1] == 29) & (rows[2] == DELIVER) & (rows[3] == 0) & (rows[5] == seq + 1))
    before = mine[mine < next_own][-1]
    moved = rows[:, [again, late, later]].copy()
    moved[0] = rows[0, [again, after, before]] + 1
    spoilt = np.concatenate([np.delete(rows, [late, later], axis=1), moved], axis=1)
    planted = [f"duplicate 27 7:{seq}@t0", f"fifo 28 8:{seq}@t0", f"causal 28 8:{seq}@t0", f"causal 29 4:{seq}@t0"]
    return spoilt[:, np.argsort(spoilt[0])], planted


def place_of(rows: np.ndarray[Any, Any], node: int, source: int, seq: int) -> int:
    found = (rows[1] == node) & (rows[2] == DELIVER) & (rows[3] == 0) & (rows[4] == source) & (rows[5] == seq)
    return int(np.flatnonzero(found)[0])


def chunks(count: int, planted: list[str]) -> Iterator[pa.Table]:
    everybody = np.stack([a.ravel() for a in np.meshgrid(np.arange(TOPICS), np.arange(NODES), indexing="ij")])
    at = np.arange(TOPICS * NODES) * 2
    yield as_table(np.stack([at, everybody[1], at * 0 + CONFIRM, everybody[0], everybody[1], at * 0]))
    for first in range(0, count, ROUNDS_AT_ONCE):
        last = min(first + ROUNDS_AT_ONCE, count)
        rows, told = plant(rounds(first, last), first, last, count)
        planted += told
        yield as_table(rows)


def as_table(rows: np.ndarray[Any, Any]) -> pa.Table:
    known = dict(zip(("position", "node", "kind", "topic", "source", "seq"), rows, strict=True))
    known["at"] = known["position"] // (2 * EACH_ROUND)
    words = {"kind": KINDS, "topic": [f"t{n}" for n in range(TOPICS)], "packet": [""]}
    zeros, nobody = np.zeros(rows.shape[1], np.int64), np.full(rows.shape[1], -1)
    arrays = []
    for c in COLUMNS:
        cells = known.get(c.name, nobody if c.name == "peer" else zeros)
        if c.type is str:
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(cells.astype(np.int32)), pa.array(words[c.name])))
        else:
            arrays.append(pa.array(cells).cast(arrow_type(c)))
    return pa.table(arrays, schema=arrow_schema())


def write(path: Path, rows: int) -> list[str]:
    """The trace, chunk by chunk in order of position; and what was planted."""
    planted: list[str] = []
    with pq.ParquetWriter(path, arrow_schema(), compression="zstd") as writer:
        for table in chunks(max(ROUNDS_AT_ONCE, rows // (NODES * SOURCES)), planted):
            writer.write_table(table)
    return planted


class Memory(threading.Thread):
    """Watches the resident memory of this process and all below it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.5):
            self.peak = max(self.peak, resident(os.getpid()))


def resident(root: int) -> int:
    below: dict[int, list[int]] = {}
    pages: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            pages[int(entry.name)] = int((entry / "statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has just ended
        below.setdefault(parent, []).append(int(entry.name))
    waiting, total = [root], 0
    while waiting:
        process = waiting.pop()
        total += pages.get(process, 0)
        waiting += below.get(process, [])
    return total * os.sysconf("SC_PAGE_SIZE")


def on_spark(path: Path, options: argparse.Namespace, work: Path) -> tuple[dict[str, float], list[str]]:
    """Seconds per audit, and the witnesses in short."""
    from pyspark.sql import functions as F

    settings = {
        "spark.driver.memory": options.heap,
        "spark.local.dir": str(work),
        "spark.sql.shuffle.partitions": str(max(8, options.rows // 1_000_000)),
    }
    spark = session(options.master, settings, heavy=True)
    trace = spark.read.schema(spark_ddl()).parquet(path.as_uri()).withColumn("run", F.lit("0"))
    seconds, found = {}, []
    start = time.perf_counter()
    case = Case(trace, True, work)
    for audit in ("messages", "steps", *PROMISES["causal"]):  # what several audits need, and the audits
        if audit == "steps":
            case.steps.count()
        elif audit != "messages":
            for row in case.witnesses(audit).orderBy(*IN_ORDER).limit(10).collect():
                witness = witness_of(row)
                found.append(f"{audit} {witness.node} {witness.message}")
        seconds[audit] = time.perf_counter() - start
        print(f"  {audit:<10} {seconds[audit]:6.1f} s", file=sys.stderr)
        start = time.perf_counter()
    spark.stop()
    return seconds, found


def in_duckdb(path: Path, work: Path) -> tuple[dict[str, float], dict[str, int]]:
    base = duckdb.connect()
    base.execute(f"SET threads = 2; SET memory_limit = '6GB'; SET temp_directory = '{work}'")
    base.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
    seconds, found = {}, {}
    for audit, query in QUERIES.items():
        start = time.perf_counter()
        found[audit] = int(base.execute(query).fetchall()[0][0])
        seconds[audit] = time.perf_counter() - start
    return seconds, found


def main() -> None:
    parser = argparse.ArgumentParser(description="audit a large trace on Spark")
    parser.add_argument("--rows", type=int, default=50_000_000, help="deliveries")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--heap", default="4g")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trellis-bench-") as place:
        path = Path(place) / "trace.parquet"
        start = time.perf_counter()
        planted = write(path, options.rows)
        written = time.perf_counter() - start
        rows, size = pq.ParquetFile(path).metadata.num_rows, path.stat().st_size
        print(f"{rows:,} rows written in {written:.0f} s, {size >> 20} MiB", file=sys.stderr)
        watch = Memory()
        watch.start()
        work = Path(place) / "work"
        work.mkdir()
        seconds, found = on_spark(path, options, work)
        watch.over.set()
        duck, counted = in_duckdb(path, work)
    told = {
        "rows": rows,
        "planted": sorted(planted),
        "found": sorted(found),
        "as_planted": sorted(planted) == sorted(found),
        "seconds": seconds,
        "seconds_all": sum(seconds.values()),
        "resident_peak_bytes": watch.peak,
        "duckdb_seconds": duck,
        "duckdb_found": counted,
        "ratio": {
            "creation": (seconds["messages"] + seconds["creation"]) / duck["creation"],
            "fifo and duplicate": sum(seconds[name] for name in ("steps", "fifo", "duplicate"))
            / (duck["fifo"] + duck["duplicate"]),
        },
    }
    if options.json:
        print(json.dumps(told))
        return
    print(f"{rows:,} rows; planted and found alike: {told['as_planted']}")
    for line in told["found"]:
        print(f"  {line}")
    print(
        f"Spark: {told['seconds_all']:.0f} s in all, at most {watch.peak / (1 << 30):.1f} GiB resident (8 are allowed)"
    )
    for audit, spent in seconds.items():
        print(f"  {audit:<10} {spent:6.1f} s")
    print("DuckDB: " + ", ".join(f"{audit} {spent:.1f} s ({counted[audit]} found)" for audit, spent in duck.items()))
    print("Spark over DuckDB: " + ", ".join(f"{what} {ratio:.1f}" for what, ratio in told["ratio"].items()))
    if not told["as_planted"] or watch.peak > RESIDENT_MAX:
        sys.exit("not as wanted")


if __name__ == "__main__":
    main()

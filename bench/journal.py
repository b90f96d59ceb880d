"""What the live trace costs: a line, a flush, a batch; what a thread costs the loop; collecting a million rows.

python bench/journal.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from trellis.audit import PROMISES, judge
from trellis.live.collect import collect
from trellis.live.record import Journal
from trellis.words import MessageId

LINES = 200_000
BATCH = 100  # messages that a line is about


def ns_each(work: Callable[[], None]) -> float:
    """The best of three."""
    found = []
    for _ in range(3):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) / LINES * 1e9)
    return min(found)


def lines(journal: Journal, per_flush: int) -> None:
    id = MessageId((1, 0), "news", 1)
    for number in range(1, LINES + 1):
        journal.happened("deliver", number, id, BATCH)
        if number % per_flush == 0:
            journal.flush()
    journal.flush()


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        for per_flush in (1, 10, 1000, LINES):
            journal = Journal(Path(place) / f"cost-{per_flush}", 1, 0, 0, rows_max=10 * LINES)
            cost = ns_each(partial(lines, journal, per_flush))
            print(f"{per_flush:>7,} lines a flush: {cost:6,.0f} ns a line, {cost / BATCH:5.1f} ns a message of a batch")
        began = time.perf_counter()
        journal.close(LINES)
        print(
            f"a segment of {3 * LINES:,} lines to a part: {time.perf_counter() - began:.3f} s, in a thread of its own"
        )
        cluster(Path(place) / "single", 1)
        cluster(Path(place) / "batches", 10)


def cluster(place: Path, batch: int) -> None:
    """Three nodes that deliver each other's messages, a million rows when laid out."""
    nodes, count = range(3), 1_000_000 // 12
    for node in nodes:
        journal = Journal(place / f"{node}", node, 0, 0)
        journal.ordered("news", "fifo")
        journal.happened("confirm", 1, MessageId((node, 0), "news", 0))
        for seq in range(1, count, batch):
            journal.happened("publish", 10 * seq + 2, MessageId((node, 0), "news", seq), batch)
            for source in nodes:
                journal.happened("deliver", 10 * seq + 5, MessageId((source, 0), "news", seq), batch)
            journal.flush()
        journal.close(10 * count + 100)
    began = time.perf_counter()
    trace, about = collect(sorted(place.iterdir()))
    took = time.perf_counter() - began
    print(f"collected {len(trace):,} rows of 3 nodes (batches of {batch}) in {took:.2f} s, digest included")
    began = time.perf_counter()
    found = judge(trace, PROMISES["fifo"], about["quiet"])
    print(f"  and judged them in {time.perf_counter() - began:.1f} s: {sum(map(len, found.values()))} violations")


if __name__ == "__main__":
    main()

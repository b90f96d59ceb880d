"""What a round of Vitis costs in the simulator, and how that grows with the number of nodes.

    .venv/bin/python bench/vines.py [--sizes 1000,2000,5000,10000] [--rounds 60] [--events 1000]
    .venv/bin/python bench/vines.py --rounds 15 --events 4 --drained 1   # only how the cost of a round grows
    .venv/bin/python bench/vines.py --sizes 10000 --overlay rendezvous [--correlation random]
    .venv/bin/python bench/vines.py --engine reference [--table 35]   # the machines themselves: the same rows, hours

One process, one core: nodes with 50 of 5,000 topics, drawn at random unless a correlation is given, a table of 15, the
printed form, on the compiled engine; after the rounds the events, and as many rounds as it takes until they are
everywhere. The largest size is the paper's. Seconds are the processor's, not the clock's; the growth is a ratio
measured in one run.
"""

from __future__ import annotations

import argparse
import resource
import time

from trellis.metrics.hits import hits
from trellis.metrics.relaying import relaying
from trellis.scenario.model import Buckets, Cycles, Nodes, Rated, Scenario, StackSpec
from trellis.sim import AUTO, ENGINES, FAST, REFERENCE, run
from trellis.words import Time

TOPICS, EACH, TABLE = 5000, 50, 15
BUCKETS = {"random": 0, "low": 5, "high": 2}  # of 100, from which a node has its topics; 0: from all
OVER, DRAINED = 10, 60  # rounds in which events are published, and after which they are everywhere (three a hop)


def scenario(
    nodes: int,
    rounds: int,
    events: int,
    overlay: str = "vitis",
    correlation: str = "random",
    drained: int = DRAINED,
    table: int = TABLE,
) -> Scenario:
    over = min(events, OVER)
    return Scenario(
        name=f"{overlay}-{nodes}",
        seed=1,
        stack=StackSpec(overlay=overlay, ordering="unordered", table=table, repair=0),
        nodes=Nodes(count=nodes),
        subscriptions=Buckets(topics=TOPICS, each=EACH, of=BUCKETS[correlation]),
        workload=Rated(messages=events, begin=rounds, per=events // over),
        network=Cycles(upkeep=False),
        end=rounds + over + drained,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,2000,5000,10000")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--drained", type=int, default=DRAINED, help="rounds after the last event")
    parser.add_argument("--overlay", choices=["vitis", "rendezvous", "topic-overlay"], default="vitis")
    parser.add_argument("--table", type=int, default=TABLE, help="entries of a node's table")
    parser.add_argument("--correlation", choices=list(BUCKETS), default="random")
    parser.add_argument("--engine", choices=ENGINES, default=AUTO)
    asked = parser.parse_args()
    first = None
    if asked.engine != REFERENCE:
        tiny = run(scenario(16, 2, 1, asked.overlay, asked.correlation, 1, asked.table), FAST)
        print(f"kernels compiled or loaded in {tiny.compiling:.0f} s")
    print("nodes  engine     seconds  per round  per node and round  growth  hit ratio  overhead  hops  memory")
    for nodes in map(int, asked.sizes.split(",")):
        done: list[Time] = [0]
        began = time.process_time()

        def tell(now: Time, _: int, began: float = began, done: list[Time] = done) -> None:
            if now > done[0]:
                done[0] = now
                print(f"  round {now}, {time.process_time() - began:.0f} s", end="\r", flush=True)

        world = scenario(
            nodes, asked.rounds, asked.events, asked.overlay, asked.correlation, asked.drained, asked.table
        )
        result = run(world, asked.engine, progress=tell)
        seconds = time.process_time() - began
        per_round = seconds / (world.end or 1)
        each = per_round / nodes
        first = first or each
        found, hit = relaying(result.trace), hits(result.trace, quiet=True)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)
        print(
            f"{nodes:6,}  {result.engine:9}  {seconds:7.0f}  {per_round:7.2f} s  {1e6 * each:13.0f} us"
            f"     {each / first:5.2f}"
            f"  {hit.ratio or 0:9.4f}  {found.overhead or 0:8.1%}  {found.delay or 0:4.1f}  {memory:.1f} GiB"
        )


if __name__ == "__main__":
    main()

"""Every measure of one run: what a sweep keeps of a run, and what `trellis run` prints.

Promises: from the trace alone; or, of a run that kept none, from what was counted while it ran, and then the same to
          the last digit (a twin test holds them together). What needs the trace itself is left open there: the digest
          and the audits (decision 0023).
"""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from trellis.audit import judge, promises_of
from trellis.metrics import traffic
from trellis.metrics.hits import Hits, hits
from trellis.metrics.latency import confirmations, latencies
from trellis.metrics.summary import Summary, from_sums, summary
from trellis.sim import Run
from trellis.sim.tally import Tally
from trellis.trace.rows import DELIVERIES


class Measures(msgspec.Struct, frozen=True):
    """One run in numbers. Nothing here depends on the clock of the machine that ran it, nor on the engine."""

    digest: str | None  # of the trace; None where none was asked for
    events: int
    until: int  # when it ended
    quiet: bool  # because nothing was left to happen
    published: int
    deliveries: int
    late: int  # of those, tagged as out of order
    sent: dict[str, int]  # packets by kind
    reception: Summary  # from publication to the first packet with the message
    delivery: Summary  # from publication to delivery
    delay: Summary  # what the order adds: from reception to delivery
    delays: dict[int, int]  # the same as a histogram
    relayed: Summary  # from publication to nodes that pass a message on and do not deliver it
    confirmation: Summary  # from subscription to its confirmation
    queue_wait: Summary  # of packets in outgoing queues
    queue_mean: float  # over time and nodes
    queue_max: int
    queues: list[float]  # mean length over time, per node
    met: list[float]  # mean wait of the PUB packets that each node sends
    barriers: dict[int, int]  # direct predecessors -> messages
    false_positives: int
    owed: int  # pairs of a message and a steady subscriber
    hit_ratio: float | None  # of those, delivered
    audited: bool
    violations: dict[str, int]  # per audit; empty when it was not audited


def measures(run: Run, judged: bool = True) -> Measures:
    """Audits need a trace: of a run without one nothing is judged, and `audited` says so."""
    if run.tally is not None:
        return counted(run, run.tally)
    trace, nodes = run.trace, run.scenario.nodes.count
    heard = latencies(trace)
    delays = heard.delivery - heard.reception
    queue = traffic.queues(trace, nodes)
    found = hits(trace, run.quiet)
    stack = run.scenario.stack
    judged = judged and run.traced
    verdict = judge(trace, promises_of(stack.ordering, stack.options()), run.quiet) if judged else {}
    return Measures(
        digest=trace.digest() if run.traced else None,
        events=run.events,
        until=int(trace.numbers("at").max()) if len(trace) else 0,
        quiet=run.quiet,
        published=len(trace.of_kind("publish")),
        deliveries=len(trace.of_kind(*DELIVERIES)),
        late=len(trace.of_kind("late")),
        sent=traffic.sent(trace),
        reception=summary(heard.reception),
        delivery=summary(heard.delivery),
        delay=summary(delays),
        delays=dict(sorted(Counter(delays.tolist()).items())),
        relayed=summary(heard.relayed),
        confirmation=summary(confirmations(trace)),
        queue_wait=summary(traffic.waits(trace)),
        queue_mean=queue.mean,
        queue_max=queue.max,
        queues=[float(length) for length in traffic.mean_queue(trace, nodes)],
        met=[float(wait) for wait in traffic.queues_met(trace, nodes)],
        barriers=traffic.barriers(trace),
        false_positives=traffic.false_positives(trace),
        owed=found.owed,
        hit_ratio=found.ratio,
        audited=judged,
        violations={name: len(witnesses) for name, witnesses in verdict.items()},
    )


def counted(run: Run, tally: Tally) -> Measures:
    """The same by what was counted instead of rows."""
    lengths = np.array(tally.waited, float) / max(1, tally.until)
    service = getattr(run.scenario.network, "service", 0)
    return Measures(
        digest=None,
        events=run.events,
        until=tally.until,
        quiet=run.quiet,
        published=tally.published,
        deliveries=tally.deliveries,
        late=0,  # of what is counted, no order tags anything
        sent=dict(sorted(tally.sent.items())),
        reception=from_sums(*tally.reception),
        delivery=from_sums(*tally.delivery),
        delay=of_histogram(tally.delays),
        delays=tally.delays,
        relayed=from_sums(*tally.relayed),
        confirmation=from_sums(*tally.confirmation),
        queue_wait=from_sums(*tally.wait),
        queue_mean=float(lengths.mean()) if tally.wait.many else 0.0,
        queue_max=longest_queue(tally.wait.most if tally.wait.many else 0, service),
        queues=lengths.tolist(),
        met=(np.array(tally.met, float) / np.maximum(1, tally.pubs)).tolist(),
        barriers=tally.barriers,
        false_positives=tally.false_positives,
        owed=tally.owed,
        hit_ratio=Hits(tally.owed, tally.made).ratio,
        audited=False,
        violations={},
    )


def longest_queue(wait: int, service: int) -> int:
    """Packets are served one by one, each as long as the next: who waits longest stands in the longest queue."""
    return -(-wait // service) if service else 0


def of_histogram(counts: dict[int, int]) -> Summary:
    total, squares = (sum(count * value**power for value, count in counts.items()) for power in (1, 2))
    return from_sums(sum(counts.values()), total, squares, min(counts, default=0), max(counts, default=0))

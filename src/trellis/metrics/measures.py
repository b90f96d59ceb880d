"""Every measure of one run, from its trace alone: what a sweep keeps of a run, and what `trellis run` prints."""

from __future__ import annotations

from collections import Counter

import msgspec

from trellis.audit import judge, promises_of
from trellis.metrics import traffic
from trellis.metrics.hits import hits
from trellis.metrics.latency import confirmations, latencies
from trellis.metrics.summary import Summary, summary
from trellis.sim import Run
from trellis.trace.rows import DELIVERIES


class Measures(msgspec.Struct, frozen=True):
    """One run in numbers. Nothing here depends on the clock of the machine that ran it."""

    digest: str
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
    violations: dict[str, int]  # per audit; empty when it was not judged


def measures(run: Run, judged: bool = True) -> Measures:
    trace, nodes = run.trace, run.scenario.nodes.count
    heard = latencies(trace)
    delays = heard.delivery - heard.reception
    queue = traffic.queues(trace, nodes)
    found = hits(trace, run.quiet)
    stack = run.scenario.stack
    verdict = judge(trace, promises_of(stack.ordering, stack.options()), run.quiet) if judged else {}
    return Measures(
        digest=trace.digest(),
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
        violations={name: len(witnesses) for name, witnesses in verdict.items()},
    )

"""The figures of one run, as `trellis run --json` prints them and `run.json` keeps them."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from trellis.audit import PROMISES, pairs_checked
from trellis.metrics import traffic
from trellis.metrics.latency import confirmations, latencies
from trellis.metrics.summary import summary
from trellis.report import verdict
from trellis.sim import Run


def figures(run: Run) -> dict[str, Any]:
    """One object: everything from the trace but the engine's own numbers."""
    trace, scenario = run.trace, run.scenario
    heard = latencies(trace)
    found = verdict(run)
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "overlay": scenario.stack.overlay,
        "ordering": scenario.stack.ordering,
        "digest": trace.digest(),
        "engine": run.engine,
        "seconds": run.seconds,
        "events": run.events,
        "until": int(trace.numbers("at").max()) if len(trace) else 0,
        "quiet": run.quiet,
        "sent": traffic.sent(trace),
        "published": len(trace.of_kind("publish")),
        "deliveries": len(trace.of_kind("deliver")),
        "reception_latency": msgspec.structs.asdict(summary(heard.reception)),
        "delivery_latency": msgspec.structs.asdict(summary(heard.delivery)),
        "confirmation_latency": msgspec.structs.asdict(summary(confirmations(trace))),
        "false_positives": traffic.false_positives(trace),
        "queue": traffic.queues(trace, scenario.nodes.count)._asdict(),
        "barrier": {str(size): count for size, count in traffic.barriers(trace).items()},
        "violations": {name: len(witnesses) for name, witnesses in found.items()},
        "not_judged": [name for name in PROMISES[scenario.stack.ordering] if name not in found],
        "pairs_checked": pairs_checked(trace, run.quiet),
    }


def about(run: Run) -> dict[str, Any]:
    """What a trace on disk says of itself. No clock: the same run writes the same bytes."""
    return {
        "digest": run.trace.digest(),
        "engine": run.engine,
        "events": run.events,
        "fingerprint": run.scenario.fingerprint(),
        "ordering": run.scenario.stack.ordering,
        "quiet": run.quiet,
        "scenario": json.loads(run.scenario.to_json()),
    }

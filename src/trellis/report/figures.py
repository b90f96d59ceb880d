"""The figures of one run, as `trellis run --json` prints them."""

from __future__ import annotations

from typing import Any

import msgspec

from trellis.audit import promises_of
from trellis.metrics.measures import measures
from trellis.sim import Run


def figures(run: Run) -> dict[str, Any]:
    """One object: everything from the trace but the engine's own numbers."""
    scenario, found = run.scenario, measures(run)
    as_dict = msgspec.structs.asdict
    promised = promises_of(scenario.stack.ordering, scenario.stack.options())
    return {
        "name": scenario.name,
        "seed": scenario.seed,
        "overlay": scenario.stack.overlay,
        "ordering": scenario.stack.ordering,
        "digest": found.digest,
        "engine": run.engine,
        "seconds": run.seconds,
        "compiling": run.compiling,
        "events": run.events,
        "until": found.until,
        "quiet": run.quiet,
        "sent": found.sent,
        "published": found.published,
        "deliveries": found.deliveries,
        "late": found.late,
        "reception_latency": as_dict(found.reception),
        "delivery_latency": as_dict(found.delivery),
        "confirmation_latency": as_dict(found.confirmation),
        "false_positives": found.false_positives,
        "queue": {"mean": found.queue_mean, "max": found.queue_max},
        "barrier": {str(size): count for size, count in found.barriers.items()},
        "violations": found.violations,
        "not_judged": [name for name in promised if name not in found.violations],
        "pairs_checked": found.owed,
        "hit_ratio": found.hit_ratio,
    }

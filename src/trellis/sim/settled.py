"""Whether a run of an overlay that never rests went on for so long that all must be everywhere."""

from __future__ import annotations

from trellis import protocols
from trellis.scenario.model import Scenario
from trellis.scenario.plan import Plan


def is_settled(scenario: Scenario, plan: Plan) -> bool:
    """Whether nothing was new for as many rounds as that takes."""
    assert scenario.end is not None
    rounds = protocols.rounds_to_settle(scenario.stack.overlay)
    last = max(scenario.last_cause(), *(action.at for action in plan.actions[-1:]), 0)
    return scenario.end - last >= rounds * (scenario.stack.options().get("period") or 1)

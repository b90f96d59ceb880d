"""A plan rehearsed: does everybody get an event as often as the formulas say?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trellis.metrics.reach import reach
from trellis.scenario.path import one_event
from trellis.sim import run


def rehearse(sizes: Sequence[int], loss: float, options: dict[str, int], runs: int) -> Iterator[bool]:
    """By run, whether all of all groups got an event of the lowest topic; `options` hold for all topics."""
    for seed in range(runs):
        scenario = one_event(sizes, seed, {"overlay": "damulticast-printed", **options}, loss)
        yield all(found.is_whole for found in reach(run(scenario).trace))

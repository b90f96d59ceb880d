"""Where `vcube` stands for the printed algorithm, it sends the same packets at the same times."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from trellis.experiments import experiments_of
from trellis.scenario.grid import points
from trellis.scenario.model import Scenario, StackSpec
from trellis.sim import run


def small(figure: str, number: int) -> Scenario:
    """A point of a figure, among 64 nodes."""
    (experiment,) = experiments_of("vcube-ps", [figure])
    found = [p.scenario for grid in experiment.grids("quick") for p in points(grid)]
    chosen = [scenario for scenario in found if scenario.stack.overlay == "vcube"][number]
    return msgspec.structs.replace(chosen, nodes=msgspec.structs.replace(chosen.nodes, count=64))


def packets(scenario: Scenario, overlay: str) -> list[tuple[Any, ...]]:
    stack = StackSpec(overlay=overlay, ordering=scenario.stack.ordering)
    trace = run(msgspec.structs.replace(scenario, stack=stack)).trace
    return sorted((row.at, row.node, row.peer, row.packet, row.source) for row in trace.of_kind("send").rows())


@pytest.mark.parametrize(("figure", "number"), [("fig4a", 0), ("fig5a", 0), ("fig5a", -1), ("fig6", 0), ("fig9", 1)])
def test_both_forms_send_the_same_packets_at_the_same_times(figure: str, number: int) -> None:
    scenario = small(figure, number)
    assert packets(scenario, "vcube") == packets(scenario, "vcube-printed") != []


def test_they_differ_where_a_source_speaks_twice() -> None:
    """Otherwise the test above could not fail."""
    chosen = msgspec.structs.replace(small("fig5a", 0), workload=at_once())
    assert packets(chosen, "vcube") != packets(chosen, "vcube-printed")


def at_once() -> Any:
    from trellis.scenario.model import AtOnce

    return AtOnce(messages=4)

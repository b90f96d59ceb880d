"""What waves missed: small worlds in which exactly one thing goes wrong."""

from __future__ import annotations

import pytest

from trellis.audit import PROMISES, judge, pairs_checked
from trellis.scenario.model import (
    Change,
    Crash,
    Explicit,
    Faults,
    Nodes,
    Pause,
    Publication,
    Random,
    Scenario,
    Script,
    Sever,
    StackSpec,
)
from trellis.sim import Run, run


def world(
    seed: int,
    nodes: int,
    members: list[int],
    changes: list[Change],
    said: list[Publication],
    faults: list[Crash | Pause | Sever],
    notice: int = 10,
) -> Run:
    return run(
        Scenario(
            name="repair",
            seed=seed,
            stack=StackSpec(overlay="vcube", ordering="causal", repair=20, keep=10_000),
            nodes=Nodes(count=nodes),
            subscriptions=Explicit(members={"t": members}, changes=changes),
            workload=Script(messages=said),
            network=Random(low=1, high=10, service=0, fifo=True),
            faults=Faults(events=faults, notice=notice),
        )
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_joiner_and_a_member_meet_though_the_node_between_them_had_no_link_to_the_member(seed: int) -> None:
    """Node 0's subscription goes to 2, which is to pass it on to 3, and cannot. Nobody else has subscribed."""
    result = world(
        seed,
        nodes=4,
        members=[3],
        changes=[Change(at=100, node=0, topic="t", do="join")],
        said=[
            Publication(at=2000, node=0, topic="t", payload="a"),
            Publication(at=2100, node=3, topic="t", payload="b"),
        ],
        faults=[Sever(at=50, node=2, other=3, span=500)],
    )
    assert all(found == [] for found in judge(result.trace, PROMISES["causal"]).values())
    assert pairs_checked(result.trace) == 4


@pytest.mark.parametrize("seed", range(30))
def test_who_stood_still_gives_nothing_up_because_a_newcomer_is_the_first_that_it_sees_again(seed: int) -> None:
    """Its links come back one by one, and node 2 has lived anew meanwhile: it cannot help, but others can."""
    result = world(
        seed,
        nodes=5,
        members=[0, 1, 2, 3, 4],
        changes=[],
        said=[Publication(at=at, node=at % 2 * 3, topic="t", payload=f"{at}") for at in range(150, 900, 25)],
        faults=[Pause(at=140, node=1, span=1500), Crash(at=200, node=2, restart=1000)],
        notice=60,
    )
    assert all(found == [] for found in judge(result.trace, PROMISES["causal"]).values())
    assert len(result.trace.of_kind("gap")) == 0

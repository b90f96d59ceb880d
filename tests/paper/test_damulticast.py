"""daMulticast as it is printed, and the gossip that it was measured against, in rounds."""

from __future__ import annotations

from math import log
from statistics import mean
from typing import Any

import msgspec
import pytest
from groves import SIZES, checked, grown, interested, nodes_with
from hypothesis import given, settings
from hypothesis import strategies as st

from trellis import draw, protocols
from trellis.audit import judge
from trellis.errors import ScenarioError
from trellis.events import Standing
from trellis.machine import Place
from trellis.protocols.overlays.damulticast_printed import DaMulticastPrinted
from trellis.protocols.overlays.gossip import GossipMulticast, fanout_of
from trellis.scenario.model import Scenario
from trellis.sim import run

OVERLAYS = ["damulticast-printed", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical"]


def world(overlay: str, members: dict[str, list[int]], topic: str, seed: int = 0, **more: Any) -> Scenario:
    """One message on a topic, by one of its subscribers."""
    speaker = members[topic][seed % len(members[topic])]
    raw = {
        "name": "gossip",
        "seed": seed,
        "stack": {"overlay": overlay, "ordering": "unordered", **more.get("stack", {})},
        "nodes": {"count": max(node for nodes in members.values() for node in nodes) + 1},
        "subscriptions": {"kind": "explicit", "members": members},
        "workload": {"kind": "explicit", "messages": [{"at": 0, "node": speaker, "topic": topic}]},
        "network": {"kind": "cycles", "loss": more.get("loss", 0.0)},
    }
    if "stillborn" in more:
        raw["faults"] = {"stillborn": more["stillborn"]}
    return checked(raw)


# Nobody gets what it did not ask for.

trees = st.dictionaries(
    st.sampled_from([".", ".a", ".b", ".a.c", ".a.d", ".a.c.e", "flat"]),
    st.sets(st.integers(0, 30), min_size=1, max_size=12).map(sorted),
    min_size=1,
)


@settings(max_examples=60, deadline=None)
@given(trees, st.integers(0, 5), st.sampled_from([0.0, 0.3]), st.data())
def test_there_are_no_parasites_whoever_subscribes_to_what(
    members: dict[str, list[int]], seed: int, loss: float, data: st.DataObject
) -> None:
    topic = data.draw(st.sampled_from(sorted(members)))
    for overlay in ("damulticast-printed", "gossip-multicast"):
        found = run(world(overlay, members, topic, seed, loss=loss))
        assert set(nodes_with(found, "receive")) <= interested(members, topic)
        assert not any(judge(found.trace, ("creation", "duplicate", "uninvited")).values())


@pytest.mark.parametrize("overlay", ["gossip-broadcast", "gossip-hierarchical"])
def test_those_that_send_everything_to_everybody_are_not_so(overlay: str) -> None:
    members = grown({".": 10, ".a": 90})
    found = run(world(overlay, members, "."))
    assert len(set(nodes_with(found, "receive")) - interested(members, ".")) > 80
    assert set(nodes_with(found, "deliver")) <= interested(members, "."), "the application does not hear of it"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_who_is_interested_gets_it_once(overlay: str) -> None:
    """With many to tell and nothing lost."""
    members = grown({".": 10, ".a": 50, ".a.b": 100, ".z": 40})
    for seed in range(5):
        found = run(world(overlay, members, ".a.b", seed, stack={"c": 8} | ({"g": 100} if "da" in overlay else {})))
        told = nodes_with(found, "deliver")
        assert len(told) == len(set(told))
        assert set(told) == interested(members, ".a.b")


# Tables.


def machine(kind: type[Any], me: int, members: dict[str, list[int]], **options: int) -> Any:
    found = kind(Place(me, 2000), **options)
    for topic, nodes in members.items():
        found.step(0, Standing(topic, tuple(nodes)))
    return found


def test_a_process_knows_ln_s_plus_c_of_its_group_and_z_of_the_next_one_above() -> None:
    members = grown(SIZES)
    sizes = []
    for me in members[".a.b"][:200]:
        node = machine(DaMulticastPrinted, me, members, c=5, g=5, a=1, z=3)
        table, (above, superprocesses) = node.table(".a.b"), node.supertable(".a.b")
        assert me not in table
        assert len(set(table)) == len(table)
        assert set(table) <= set(members[".a.b"])
        assert above == ".a"
        assert len(set(superprocesses)) == 3
        assert set(superprocesses) <= set(members[".a"])
        assert node.entries() <= log(1000) + 5 + 3 + 1
        sizes.append(len(table))
    assert mean(sizes) == pytest.approx(log(1000) + 5, abs=0.1)


def test_a_level_that_nobody_subscribes_to_is_passed_over() -> None:
    members = {".": [0, 1, 2], ".a.b.c": [3, 4, 5]}
    assert machine(DaMulticastPrinted, 3, members, c=5, g=5, a=1, z=2).supertable(".a.b.c")[0] == "."
    assert machine(DaMulticastPrinted, 0, members, c=5, g=5, a=1, z=2).supertable(".") == (".", ())


def test_a_group_for_each_topic_takes_more_memory_the_more_topics_there_are_below() -> None:
    members = grown({".": 10} | {f".t{n}": 20 for n in range(8)})
    root, leaf = (machine(GossipMulticast, me, members, c=5) for me in (0, 10))
    assert leaf.entries() <= log(30) + 5 + 1
    assert root.entries() > 8 * (log(30) + 5 - 1)


@given(st.sets(st.integers(0, 200), min_size=1), st.integers(0, 20), st.integers(0, 200), st.integers(0, 9))
def test_few_are_different_and_not_the_one(population: set[int], count: int, but: int, key: int) -> None:
    found = draw.few(0, draw.TABLE, sorted(population), count, but, key)
    assert len(set(found)) == len(found) == min(count, len(population - {but}))
    assert set(found) <= population - {but}


def test_few_are_drawn_evenly() -> None:
    counts = [0] * 10
    for key in range(3000):
        for one in draw.few(1, draw.TABLE, range(10), 3, 4, key):
            counts[one] += 1
    assert counts[4] == 0
    assert all(900 < count < 1100 for n, count in enumerate(counts) if n != 4)


# The paper's figures, as far as a few runs can show them.


@pytest.mark.parametrize(("sizes", "published"), [((1000, 100, 10), 11_216), ((100,) * 3, 1_699), ((100,) * 5, 3_739)])
def test_table_2(sizes: tuple[int, ...], published: int) -> None:
    """An event of the root topic, with channels that lose 15%."""
    names = ["." if not n else "." + ".".join("t" * n) for n in range(len(sizes))]
    members = grown(dict(zip(names, reversed(sizes), strict=True)))
    wanted = interested(members, ".")
    parasites = []
    for seed in range(8):
        received = nodes_with(run(world("gossip-broadcast", members, ".", seed, loss=0.15)), "receive")
        parasites.append(sum(node not in wanted for node in received))
    assert mean(parasites) == pytest.approx(published, rel=0.1)
    found = run(world("damulticast-printed", members, ".", loss=0.15))
    assert set(nodes_with(found, "receive")) <= wanted


def test_who_is_dead_from_the_beginning_gets_nothing_and_says_nothing() -> None:
    members = grown(SIZES)
    found = run(world("damulticast-printed", members, ".a.b", stillborn=0.3))
    dead = set(nodes_with(found, "crash"))
    assert len(dead) == round(0.3 * 1110)
    assert dead.isdisjoint(nodes_with(found, "deliver", "receive", "send"))
    assert members[".a.b"][0] not in dead, "whoever speaks lives"


def test_a_share_of_the_packets_is_lost() -> None:
    found = run(world("gossip-broadcast", grown({".": 300}), ".", loss=0.15))
    sent, received = len(nodes_with(found, "send")), len(nodes_with(found, "receive"))
    assert received / sent == pytest.approx(0.85, abs=0.03)


def test_the_same_run_every_time() -> None:
    scenario = world("damulticast-printed", grown(SIZES), ".a.b", 3, loss=0.15, stillborn=0.1)
    assert run(scenario).trace.digest() == run(scenario).trace.digest()


# What cannot be had is refused by name.


def test_fanout_is_right_on_average() -> None:
    found = [fanout_of(300, 5, n / 1000) for n in range(1000)]
    assert mean(found) == pytest.approx(log(300) + 5, abs=0.001)
    assert set(found) == {10, 11}
    assert fanout_of(1, 0, 0.0) == 1, "somebody is always told"


@pytest.mark.parametrize("ordering", ["fifo", "total"])
def test_gossip_that_forgets_keeps_no_order(ordering: str) -> None:
    with pytest.raises(ScenarioError, match=f"'{ordering}' over 'damulticast-printed': it needs"):
        protocols.check("damulticast-printed", ordering, {})


def test_nobody_joins_where_it_is_known_from_the_beginning_who_subscribes() -> None:
    members = {".": [0, 1, 2]}
    raw = msgspec.to_builtins(world("gossip-broadcast", members, "."))
    raw["subscriptions"]["changes"] = [{"at": 1, "node": 3, "topic": ".", "do": "join"}]
    raw["nodes"]["count"] = 4
    with pytest.raises(ScenarioError, match=r"overlay 'gossip-broadcast' knows from the beginning who subscribes"):
        checked(raw)
    with pytest.raises(ScenarioError, match="use vcube or single-root or brokers"):
        protocols.check_joins("damulticast-printed", "swarm")


def test_losses_are_for_those_who_make_do_with_them() -> None:
    with pytest.raises(ScenarioError, match=r"network.loss = 0.1: overlay 'vcube' needs packets to arrive; use damul"):
        world("vcube", {"a": [0, 1]}, "a", loss=0.1)

"""Vitis and its rivals in rounds: what sections III and IV-A say of the overlay, and what heals when nodes fail."""

from __future__ import annotations

from functools import cache
from math import log2
from typing import Any

import pytest
from groves import nodes_with
from vines import CORRELATIONS, FAR_AWAY, Vineyard, world

from trellis.audit import judge, promises_of
from trellis.errors import ScenarioError
from trellis.events import Publish
from trellis.machine import Place
from trellis.protocols import build
from trellis.protocols.overlays.vine_repair import Comparison
from trellis.protocols.overlays.vine_topics import AGAIN, ALONE, SLOW
from trellis.sim import run
from trellis.sim.cycles import ChurningHost
from trellis.words import NodeId, Topic

NODES, GROWN = 64, 35  # rounds after which nothing moves any more; former ways still count for some
TABLE, D, LIMIT = 6, 5, 5  # a table so small that topics have several clusters
MORTAL = {"events": [{"kind": "crash", "at": FAR_AWAY - 1, "node": 0}]}  # so that a test can kill


@cache
def grown(overlay: str, correlation: str) -> Vineyard:
    return Vineyard(world(overlay, NODES, correlation, seed=3, stack={"table": TABLE})).until(GROWN)


EVERY = [(overlay, correlation) for overlay in ("vitis", "rendezvous") for correlation in CORRELATIONS]
everywhere = pytest.mark.parametrize(("overlay", "correlation"), EVERY)


def say(vineyard: Vineyard, speakers: dict[Topic, NodeId]) -> None:
    for topic, node in speakers.items():
        vineyard.host.act(node, Publish(topic, b"x"))


def heard(vineyard: Vineyard, kind: str = "deliver") -> dict[Topic, list[NodeId]]:
    found: dict[Topic, list[NodeId]] = {}
    for row in vineyard.host.recorder.trace().of_kind(kind).rows():
        if kind == "deliver" or row.packet == "EVENT":
            found.setdefault(row.topic, []).append(row.node)
    return found


# The overlay (section III-A)


def test_the_ring_closes_in_a_few_rounds() -> None:
    """Section III-A1: it "rapidly converges to a correct ring". Then all know who chose them."""
    vineyard = Vineyard(world("vitis", 150, seed=5))
    assert vineyard.rounds(20, lambda: not vineyard.torn()) > 3
    assert vineyard.rounds(20, lambda: not vineyard.one_way()) >= 0


@everywhere
def test_everybody_knows_its_successor_and_its_predecessor(overlay: str, correlation: str) -> None:
    assert grown(overlay, correlation).torn() == []


@everywhere
def test_a_lookup_ends_at_the_closest_node_wherever_it_begins(overlay: str, correlation: str) -> None:
    """Section III-B: "all the lookups end up at the rendezvous node". And in few steps."""
    vineyard = grown(overlay, correlation)
    steps = []
    for topic in vineyard.topics[:15]:
        closest = vineyard.rendezvous(topic)
        for node in range(NODES):
            way = vineyard.look_up(node, topic)
            assert way[-1] == closest
            steps.append(len(way) - 1)
    assert sum(steps) / len(steps) <= log2(NODES)


@everywhere
def test_links_are_bounded_and_known_at_both_ends(overlay: str, correlation: str) -> None:
    vineyard = grown(overlay, correlation)
    for vine in vineyard.vines.values():
        assert len(vine.neighbours.table()) <= TABLE
        assert len(vine.neighbours.audience()) <= TABLE
    assert vineyard.one_way() == []


def test_friends_have_more_in_common_than_others() -> None:
    """Algorithm 4, lines 11-15."""
    vineyard = grown("vitis", "high")
    liking, rest = [], []
    for node, vine in vineyard.vines.items():
        for other, one in vineyard.vines.items():
            if node != other:
                friend = other in vine.neighbours.known and vine.neighbours.known[other].mine == 1
                (liking if friend else rest).append(vine.rates.utility(vine.profile, one.profile))
    assert sum(liking) / len(liking) > 2 * sum(rest) / len(rest)


# Gateways and relay paths (section III-B)


@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_following_proposals_leads_to_the_gateway_in_fewer_than_d_steps(correlation: str) -> None:
    vineyard = grown("vitis", correlation)
    for node, vine in vineyard.vines.items():
        for topic, proposal in vine.proposals.items():
            at, steps = node, 0
            while (mine := vineyard.vine(at).proposals[topic]).parent != at:
                assert mine.gateway == proposal.gateway
                at, steps = mine.parent, steps + 1
                assert steps < D
            assert at == proposal.gateway
            assert steps == proposal.hops


def test_topics_have_several_clusters_and_each_has_a_gateway() -> None:
    """Else nothing here would need a relay path."""
    vineyard = grown("vitis", "random")
    several = [topic for topic in vineyard.topics if len(vineyard.clusters(topic)) > 1]
    assert len(several) > 10
    for topic in several:
        gateways = set(vineyard.gateways(topic))
        assert all(cluster & gateways for cluster in vineyard.clusters(topic))


@everywhere
def test_every_event_reaches_every_cluster_of_its_topic(overlay: str, correlation: str) -> None:
    """Section IV-B: "both Vitis and RVR have 100% hit ratio in all settings". As printed: nothing is made up for."""
    vineyard = grown(overlay, correlation)
    topics = vineyard.topics[::8]
    assert vineyard.whole(topics)
    say(vineyard, {topic: min(vineyard.members(topic)) for topic in topics})
    vineyard.until(vineyard.host.now + 25)
    found = heard(vineyard)
    assert {topic: sorted(nodes) for topic, nodes in found.items()} == {
        topic: sorted(vineyard.members(topic)) for topic in topics
    }, "all, and each once"
    relayed = heard(vineyard, "receive")
    strangers = {topic: set(relayed[topic]) - vineyard.members(topic) for topic in topics}
    assert all(len(nodes) == len(set(nodes)) for nodes in relayed.values()), "whoever relays it pulls it once"
    assert sum(map(len, strangers.values())) < len(topics) * NODES / 3


def test_a_notification_goes_through_gateway_relays_and_rendezvous_to_another_cluster() -> None:
    """Figure 3: from p through its gateway g along the relay path to r, and down to m."""
    vineyard = Vineyard(world("vitis", NODES, "random", seed=3, stack={"table": TABLE})).until(GROWN + 30)
    for topic in vineyard.topics:
        clusters, members = vineyard.clusters(topic), vineyard.members(topic)
        rendezvous = vineyard.rendezvous(topic)
        ways = [set(vineyard.look_up(gateway, topic)) for gateway in vineyard.gateways(topic)]
        apart = len(clusters) == len(ways) == 2 and ways[0] & ways[1] == {rendezvous}
        near = {node for way in ways for relay in way - members for node in vineyard.vine(relay).neighbours.known}
        if apart and ({*near}.union(*ways)) & members == set(vineyard.gateways(topic)):
            break
    else:
        pytest.fail("no topic has two clusters whose ways pass by nobody else of it, and meet at the rendezvous alone")
    p = min(clusters[0])
    say(vineyard, {topic: p})
    vineyard.until(vineyard.host.now + 25)
    came = {
        row.node: row.peer
        for row in vineyard.host.recorder.trace().of_kind("receive").rows()
        if row.packet == "EVENT" and row.topic == topic
    }
    gateways = vineyard.gateways(topic)
    through = set()
    for m in clusters[1]:
        way = [m]
        while way[-1] != p:
            way.append(came[way[-1]])
        way.reverse()
        relays = [node for node in way if node not in members]
        first, last = way.index(relays[0]), way.index(relays[-1])
        assert relays == way[first : last + 1], "it leaves the one cluster and enters the other"
        assert way[first - 1] in gateways, "by a gateway"
        assert way[last + 1] in gateways
        through |= set(relays)
    assert rendezvous in through


def test_a_relay_passes_on_what_comes_in_the_round_in_which_nobody_asks_it_any_more() -> None:
    """The new path has not grown by then, so a message that is under way goes the whole of the old one."""
    vineyard = Vineyard(world("vitis", NODES, "random", seed=3, stack={"table": TABLE})).until(GROWN)
    relays = [
        (vine, topic)
        for vine in vineyard.vines.values()
        for topic in vine.relays.children
        if topic not in vine.taken and vine.hop(topic) is not None
    ]
    assert relays
    for vine, topic in relays[:20]:
        hop, below = vine.hop(topic), list(vine.relays.children[topic])
        for child in below:
            asks = vine.neighbours.known[child].asks
            vine.relays.hear(child, asks, tuple(ask for ask in asks if ask[0] != topic), vine.round)
        assert topic not in vine.relays.children
        assert {hop, *below} <= set(vine.ways(topic))
        vine.exchange_profile()
        assert {hop, *below} <= set(vine.ways(topic)), "and in the rounds after it"


def test_vitis_needs_fewer_strangers_than_a_tree_for_each_topic() -> None:
    """Figure 4(a), as far as a hundred nodes show it; after the test above has spoken."""
    overhead = {}
    for overlay in ("vitis", "rendezvous"):
        vineyard = grown(overlay, "high")
        if not heard(vineyard):
            test_every_event_reaches_every_cluster_of_its_topic(overlay, "high")
        relayed = heard(vineyard, "receive")
        strangers = [node for topic, nodes in relayed.items() for node in nodes if node not in vineyard.members(topic)]
        overhead[overlay] = len(strangers) / sum(map(len, relayed.values()))
    assert overhead["vitis"] < 0.7 * overhead["rendezvous"]


def test_over_an_overlay_per_topic_nobody_gets_what_it_does_not_take() -> None:
    """OPT: without a bound all get everything; with one, what is not covered is not reached (Figure 10)."""
    ratios = {}
    for table in (0, 3):
        vineyard = Vineyard(world("topic-overlay", NODES, "random", seed=3, stack={"table": table})).until(30)
        say(vineyard, {topic: min(vineyard.members(topic)) for topic in vineyard.topics[::8]})
        vineyard.until(50)
        found, carried = heard(vineyard), heard(vineyard, "receive")
        for topic, nodes in carried.items():
            assert set(nodes) <= vineyard.members(topic)
        wanted = sum(len(vineyard.members(topic)) for topic in found)
        ratios[table] = sum(len(set(nodes)) for nodes in found.values()) / wanted
        degrees = [len(vine.neighbours.known) for vine in vineyard.vines.values()]
        assert table == 0 or max(degrees) <= 2 * table
    assert ratios[0] == 1.0
    assert ratios[3] < 0.9


def test_no_order_is_kept_over_links_that_may_not_reach_everybody() -> None:
    with pytest.raises(ScenarioError, match="'fifo' over 'topic-overlay': it needs"):
        build("topic-overlay", "fifo", Place(0, 8), {})
    with pytest.raises(ScenarioError, match="'causal' over 'vitis': it needs"):
        build("vitis", "causal", Place(0, 8), {"repair": 0})
    build("topic-overlay", "fifo", Place(0, 8), {"table": 0})


# Joining (not in the paper)


def test_nodes_that_all_join_a_topic_at_once_begin_with_the_smallest_of_them() -> None:
    """None of them can tell another where to begin: one that all others wait for need not wait for them."""
    joining = [{"at": 25, "node": node, "topic": "new", "do": "join"} for node in range(3, 23)]
    scenario = world(
        "vitis",
        40,
        seed=7,
        end=25 + 60,
        stack={"ordering": "causal", "repair": 1, "table": 6},
        subscriptions={"kind": "explicit", "members": {"old": list(range(40))}, "changes": joining},
    )
    confirmed = {row.node: row.at - 25 for row in run(scenario).trace.of_kind("confirm").rows() if row.topic == "new"}
    assert confirmed.keys() == set(range(3, 23))
    assert min(confirmed.values()) == confirmed[3] == ALONE
    assert max(confirmed.values()) <= ALONE + AGAIN + 2, confirmed
    assert ALONE + AGAIN + 2 < SLOW


# Failures (sections III-B and III-D)

HEALED = LIMIT + 1 + D + 6  # rounds: to notice, to propose another gateway, and to ask along a relay path


def breaking(vineyard: Vineyard) -> tuple[NodeId, list[Topic]]:
    """Of the gateways, one whose death would cut off a cluster."""
    for node in vineyard.vines:
        mine = vineyard.vine(node)
        topics = [topic for topic in mine.taken if mine.is_gateway(topic) and len(vineyard.members(topic)) > 2]
        if not topics:
            continue
        mine_known = mine.neighbours.known
        torn = [topic for topic in topics if mine_known and cut_off(vineyard, node, topic)]
        if torn:
            return node, torn
    raise AssertionError("nobody matters")


def cut_off(vineyard: Vineyard, dead: NodeId, topic: Topic) -> bool:
    members = vineyard.members(topic) - {dead}

    def on(at: NodeId) -> Any:
        one = vineyard.vine(at)
        ways = one.ways(topic) if topic in one.taken or one.carries(topic) else ()
        return [way for way in ways if way != dead]

    return not members <= vineyard.spread([min(members)], on)


def mortal(repair: int, seed: int = 3) -> Vineyard:
    scenario = world("vitis", NODES, "random", seed=seed, stack={"table": TABLE, "repair": repair}, faults=MORTAL)
    return Vineyard(scenario, ChurningHost).until(GROWN)


def test_a_gateway_that_fails_is_replaced_in_a_stated_number_of_rounds() -> None:
    """Nothing is made up for here: the paths themselves heal."""
    vineyard = mortal(repair=0)
    took = []
    for _ in range(3):
        node, topics = breaking(vineyard)
        vineyard.kill(node)
        assert not vineyard.whole(topics)
        took.append(vineyard.rounds(HEALED, lambda topics=topics: vineyard.whole(topics)))  # type: ignore[misc]
        assert not any(node in vine.neighbours.known for vine in vineyard.vines.values())
        vineyard.until(vineyard.host.now + 2)
        say(vineyard, {topic: max(vineyard.members(topic)) for topic in topics})
        vineyard.until(vineyard.host.now + 20)
        for topic in topics:
            assert vineyard.members(topic) <= set(heard(vineyard)[topic])
    assert min(took) >= LIMIT, took


def test_what_is_said_while_a_path_is_broken_arrives_by_comparison_and_only_so() -> None:
    late = {}
    for repair in (0, 1):
        vineyard = mortal(repair)
        node, topics = breaking(vineyard)
        vineyard.kill(node)
        say(vineyard, {topic: min(vineyard.members(topic)) for topic in topics})
        vineyard.until(GROWN + 60)
        got = heard(vineyard)
        late[repair] = [topic for topic in topics if not vineyard.members(topic) <= set(got[topic])]
    assert late[0], "in the printed form it is lost"
    assert late[1] == []


@pytest.mark.parametrize("asked", [True, False])
def test_what_no_neighbour_has_is_asked_of_its_source_before_it_is_given_up(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if all neighbours had joined after it spoke. Unless it is asked, the message is lost, and that is told."""
    if not asked:
        monkeypatch.setattr(Comparison, "asks_source", lambda *_: False)
    vineyard = mortal(repair=1)
    topic = next(topic for topic in vineyard.topics if len(vineyard.clusters(topic)) > 1)
    source, reader = (min(cluster) for cluster in vineyard.clusters(topic)[:2])
    monkeypatch.setattr(vineyard.vine(source).spreading, "begin", lambda _: None)  # its links fail just then
    say(vineyard, {topic: source})
    for stranger in range(1000, 1005):
        vineyard.vine(reader).comparison.be_refused(stranger, topic, {(source, 0): 1}, {})
    vineyard.until(GROWN + 60)
    gaps = [row.node for row in vineyard.host.recorder.trace().of_kind("gap").rows() if row.topic == topic]
    assert (reader in heard(vineyard)[topic]) == asked
    assert (reader in gaps) == (not asked)


@pytest.mark.parametrize(("overlay", "ordering"), [("vitis", "causal"), ("rendezvous", "fifo")])
def test_with_a_seventh_of_all_packets_lost_and_nodes_that_come_and_go_all_arrives_in_order(
    overlay: str, ordering: str
) -> None:
    """Subscriptions change, too. Nobody is told of a crash: silence is all that there is."""
    members = {"a": list(range(0, 30, 2)), "b": list(range(0, 30, 3))}
    changes = [{"at": 30 + n, "node": 2 * n + 1, "topic": "a", "do": "join"} for n in range(8)]
    changes += [{"at": 60 + 2 * n, "node": 4 * n, "topic": "a", "do": "leave"} for n in range(4)]
    said = [
        {"at": 25 + 2 * n, "node": 18 + 6 * (n % 2), "topic": "ab"[n % 3 == 0], "payload": f"{n}"} for n in range(40)
    ]
    crashes = [
        {"kind": "crash", "at": 40, "node": 6, "restart": 70},
        {"kind": "crash", "at": 45, "node": 9},
        {"kind": "crash", "at": 50, "node": 10, "restart": 55},
    ]
    scenario = world(
        overlay,
        30,
        seed=11,
        end=110 + 160,
        stack={"ordering": ordering, "repair": 1, "table": 6},
        subscriptions={"kind": "explicit", "members": members, "changes": changes},
        messages=said,
        network={"loss": 0.15},
        faults={"events": crashes},
    )
    found = run(scenario)
    witnesses = judge(found.trace, promises_of(ordering, scenario.stack.options()), found.quiet)
    assert not any(witnesses.values()), witnesses
    assert len(nodes_with(found, "deliver")) > 400
    assert len(nodes_with(found, "fill")) > 0, "something was made up for"

"""The compiled engine in rounds: vines beside their machines, and what only they have.

`test_engines.py`, `test_broken_kernels.py` and `test_refusals.py` have what all twins have in common.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import numpy as np
import pytest

from trellis.errors import ScenarioError, UnsupportedByEngine
from trellis.metrics.hits import hits
from trellis.protocols.overlays import vine, vine_packets, vine_spreading, vine_topics
from trellis.protocols.parts import neighbours, relays, sampling, small_world, tman
from trellis.scenario.load import from_mapping
from trellis.scenario.plan import plan
from trellis.sim import cycles, is_for_the_compiled, run
from trellis.sim.fast import LONG
from trellis.sim.fast.memory import HEADER, TABLES, block, room, table
from trellis.sim.fast.vine import asking, guessing, joining, looking, mail, spreading, starting
from trellis.sim.fast.vine import neighbours as fast_neighbours
from trellis.sim.fast.vine import sampling as fast_sampling
from trellis.sim.fast.vine import tables as t
from trellis.sim.fast.vine.room import MORE
from trellis.sim.fast.vine.running import Vines, give_room
from trellis.swarm.twins import compare

CRASH = {"kind": "crash", "at": 3, "node": 1}
VINES = ["vitis", "rendezvous", "topic-overlay"]


def scenario(overlay: str = "vitis", nodes: int = 24, **more):
    raw = {
        "name": "vines",
        "seed": 5,
        "stack": {"overlay": overlay, "ordering": "unordered", "repair": 0, "table": 5},
        "nodes": {"count": nodes},
        "subscriptions": {"kind": "buckets", "topics": 12, "each": 4, "buckets": 2, "of": 1},
        "workload": {"kind": "rated", "messages": 30, "begin": 10, "per": 5},
        "network": {"kind": "cycles", "loss": 0.02},
        "end": 40,
    }
    return from_mapping(raw | more)


@dataclass
class Shrunk:
    """A run with as little room as can be: each table has to grow again and again."""

    whole: Vines

    def __post_init__(self) -> None:
        old = self.whole.block
        nodes, tight = self.whole.nodes, {t.OUTBOX: 8, t.INBOX: 8, t.LINKS: 8, t.PASSAGES: 1, t.CARRIED: 8}
        tight[t.POOL] = 8 * (nodes + len(self.whole.topics) + MORE)  # half of it is enough for any event
        tight |= {t.CHUNKS: 1, t.NOTES: 1}
        tight |= {t.KNOWN: nodes * t.ROW, t.SHUNNED: nodes * t.PAIR}
        strides = {t.FULL: (t.FULL_STRIDE, 2), t.LISTS: (t.LIST_STRIDE, 1)}
        rooms = {part: int(old[room(part.number)]) for part in t.PARTS} | tight
        rooms |= dict.fromkeys(t.LETTERS, 16) | {t.CARRIED_SLOTS: 16, t.PASSAGE_SLOTS: 2}
        rooms |= {part: stride * nodes for part, (_, stride) in strides.items()}
        new = block(rooms)
        new[2 * TABLES : HEADER] = old[2 * TABLES : HEADER]  # counters
        for part in t.PARTS:
            new_rows, old_rows = table(new, part), table(old, part)
            if len(new_rows) == len(old_rows):
                new_rows[:] = old_rows
        for where, stride in strides.values():
            new[where] = stride
        give_room(new, t.ROW, t.PAIR)
        self.whole.block = new


@pytest.mark.parametrize("overlay", VINES)
def test_tables_get_more_room_as_they_need_it(overlay: str) -> None:
    crowd = scenario(overlay)
    shrunk = Shrunk(Vines(crowd, plan(crowd))).whole
    parts = (t.OUTBOX, t.KNOWN, *t.LETTERS, t.PASSAGES)
    before = [int(shrunk.block[room(part.number)]) for part in parts]
    shrunk.run()
    assert all(int(shrunk.block[room(part.number)]) > was for part, was in zip(parts, before, strict=True))
    paths = [] if overlay == "topic-overlay" else [t.LISTS, t.NOTES]
    assert all(int(shrunk.block[room(part.number)]) > shrunk.nodes for part in paths)
    assert shrunk.trace().digest() == run(crowd, "reference").trace.digest()


@pytest.mark.parametrize("overlay", VINES)
def test_tables_get_more_room_while_nodes_come_and_go(overlay: str) -> None:
    crashes = [{"kind": "crash", "at": 8 + n // 8, "node": n, "restart": 12 + n // 2} for n in range(18)]
    crowd = scenario(overlay, faults={"events": crashes}, end=60)
    shrunk = Shrunk(Vines(crowd, plan(crowd))).whole
    shrunk.run()
    assert shrunk.trace().digest() == run(crowd, "reference").trace.digest()


def test_what_nobody_refers_to_goes_before_the_pool_gets_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from trellis.sim.fast.vine import growing

    told: list[bool] = []
    plain = growing.tidied
    monkeypatch.setattr(growing, "tidied", lambda m: told.append(plain(m)) or told[-1])
    crowd = scenario("vitis", end=60)
    shrunk = Shrunk(Vines(crowd, plan(crowd))).whole
    shrunk.run()
    assert True in told
    assert shrunk.trace().digest() == run(crowd, "reference").trace.digest()


@pytest.mark.parametrize("overlay", VINES)
def test_a_packet_that_tells_too_much_is_cut_short(overlay: str) -> None:
    """Names so long that a table does not fit into a packet: some are told of, from a place on that luck decides."""
    members = {f"{n:0230}": list(range(24)) for n in range(170)}
    told = scenario(overlay, subscriptions={"kind": "explicit", "members": members}, end=14)
    assert tman.ROOM < 22 * (48 + 170 * 254)
    assert compare(told)[0] == ""


@pytest.mark.parametrize("limit", [0, 5])
def test_what_neighbours_cover_takes_several_words(limit: int) -> None:
    """A node has more topics than a word has bits, and shares some of them with each of the others."""
    dice = Random(5)
    members = {f"t{n}": [node for node in range(7) if dice.random() < 0.8] for n in range(170)}
    assert min(sum(node in who for who in members.values()) for node in range(7)) > 2 * 63
    stack = {"overlay": "topic-overlay", "ordering": "unordered", "repair": 0, "table": limit}
    wide = scenario("topic-overlay", 7, stack=stack, subscriptions={"kind": "explicit", "members": members}, end=14)
    assert compare(wide)[0] == ""


def test_who_has_few_neighbours_needs_no_more_room_than_there_is_at_first() -> None:
    """Also where a table has no bound: only the few nodes with very many move to another place."""
    stack = {"overlay": "topic-overlay", "ordering": "unordered", "repair": 0, "table": 0}
    crowd = scenario("topic-overlay", 40, stack=stack)
    whole = Vines(crowd, plan(crowd))
    before = int(whole.block[room(t.KNOWN.number)])
    whole.run()
    nodes = table(whole.block, t.NODES)
    assert 0 < nodes[:, t.KNOWN_COUNT].max() < 40
    assert int(whole.block[room(t.KNOWN.number)]) == before == int(whole.block[t.IN_KNOWN])


def test_one_hop_is_asked_for_as_much_as_fits() -> None:
    """More topics than a packet has room for, all on the same way."""
    members = {f"{n:0250}": [0, 1, 2] for n in range(1100)}
    asked = scenario("rendezvous", 3, subscriptions={"kind": "explicit", "members": members}, end=12)
    assert relays.NAMES_MAX < 1100 * 274
    assert compare(asked)[0] == ""


@pytest.mark.parametrize("overlay", VINES)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_few_nodes_or_none_who_subscribe(overlay: str, nodes: int) -> None:
    alone = {"kind": "explicit", "members": {"a": [0], "b": []}}
    said = {"kind": "explicit", "messages": [{"at": at, "node": 0, "topic": "a"} for at in (0, 1, 1, 9)]}
    assert compare(scenario(overlay, nodes, subscriptions=alone, workload=said))[0] == ""


def test_auto_takes_the_compiled_engine_for_long_runs() -> None:
    assert is_for_the_compiled(scenario(nodes=LONG // 40 + 1))
    assert not is_for_the_compiled(scenario(nodes=LONG // 40))
    assert run(scenario(nodes=4)).engine == "reference"


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"stack": {"overlay": "vitis", "ordering": "causal"}}, "'causal' over 'vitis'"),
        ({"stack": {"overlay": "vitis", "ordering": "unordered"}}, "stack.repair over 'vitis'"),
        (
            {"stack": {"overlay": "rendezvous", "ordering": "unordered", "repair": 0, "period": 9}},
            "stack.period over 'rendezvous'",
        ),
        ({"network": {"kind": "queue", "service": 1, "propagation": 9}}, "network 'queue'"),
        ({"faults": {"events": [{"kind": "pause", "at": 3, "node": 1, "span": 2}]}}, "faults have"),
        ({"faults": {"events": [CRASH, {"kind": "sever", "at": 3, "node": 1, "other": 2, "span": 2}]}}, "faults have"),
        ({"faults": {"events": [CRASH], "stillborn": 0.5}}, "faults have"),
        ({"faults": {"events": [CRASH]}, "stack": {"overlay": "vitis", "ordering": "unordered"}}, "stack.repair over"),
        ({"faults": {"stillborn": 0.5}}, "faults have"),
        ({"subscriptions": {"kind": "buckets", "announce": True}}, "joining and leaving over 'vitis'"),
        ({"subscriptions": {"kind": "sessions", "subscribers": 3, "session": 9}}, "joining and leaving over 'vitis'"),
        (
            {
                "subscriptions": {
                    "kind": "explicit",
                    "members": {"a": [1]},
                    "changes": [{"at": 3, "node": 0, "topic": "a", "do": "join"}],
                }
            },
            "joining and leaving over 'vitis'",
        ),
        ({"workload": {"kind": "replies"}}, "workload 'replies'"),
        ({"end": None}, "a run without an end"),
        ({"subscriptions": {"kind": "buckets", "topics": 17_000}}, "more than 16384 topics"),
    ],
)
def test_what_has_no_twin_is_refused_by_name(more, why: str) -> None:
    with pytest.raises(UnsupportedByEngine, match=f"{why}.*use engine='reference'"):
        run(scenario(**more), "fast")


def test_a_table_without_room_for_the_ring_is_refused_as_the_machine_does() -> None:
    narrow = scenario(stack={"overlay": "vitis", "ordering": "unordered", "repair": 0, "table": 3, "k": 2})
    for engine in ("fast", "reference"):
        with pytest.raises(ScenarioError, match="the ring takes 2 links"):
            run(narrow, engine)


def test_names_and_limits_are_those_of_the_machines() -> None:
    of = vine_packets
    packets = (of.Sample, of.Swap, of.Beat, of.Full, of.Notify, of.Pull, of.Pulled)
    packets += (of.Lookup, of.Found, of.Ask, of.Start, of.Sums)
    assert mail.PACKETS[1:] == [packet.kind for packet in packets]
    names = ("KEPT", "AGAIN", "PASSED_MAX", "ASKERS_MAX")
    assert [getattr(spreading, name) for name in names] == [getattr(vine_spreading, name) for name in names]
    assert (t.SOURCES_MAX, fast_neighbours.FORMER_MAX) == (vine_spreading.SOURCES_MAX, vine.FORMER_MAX)
    assert (fast_sampling.NEW, t.VIEW_MAX) == (vine.NEW, sampling.VIEW)
    assert (mail.ROOM, mail.SAFE, mail.FEW, mail.CONTACTS_MAX) == (tman.ROOM, tman.SAFE, tman.FEW, tman.CONTACTS_MAX)
    assert (fast_neighbours.FULL_ROUNDS, fast_neighbours.FULL_MAX) == (neighbours.FULL, neighbours.FULL_MAX)
    assert (asking.FEW, asking.NAMES_MAX) == (relays.FEW, relays.NAMES_MAX)
    names = ("AGAIN", "ALONE", "SLOW", "ASKED")
    assert [getattr(joining, name) for name in names] == [getattr(vine_topics, name) for name in names]
    assert (starting.AGAIN, starting.ASKED_MAX) == (vine_topics.AGAIN, vine_topics.ASKED_MAX)
    assert looking.STEPS_MAX == vine_packets.STEPS_MAX
    assert t.FATES.width == t.F_CONTACT + cycles.CONTACTS
    assert (guessing.SLACK, guessing.FEW_STEPS) == (small_world.SLACK, small_world.FEW_STEPS)
    reasons = (neighbours.NOT, neighbours.FRIEND, neighbours.SHORTCUT, neighbours.RING)
    assert reasons == (t.NOT, t.FRIEND, t.SHORTCUT, t.RING)


def test_points_compare_without_a_sign() -> None:
    """Also at the two places where signed words turn over."""
    from trellis.protocols.parts import ring as plain
    from trellis.sim.fast.vine import ring

    points = [0, 1, 5, (1 << 62), (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1]
    words = {p: np.uint64(p).astype(np.int64) for p in points}
    with np.errstate(over="ignore"):
        for a in points:
            for b in points:
                assert -int(ring.nearness(words[a], words[b])) == plain.distance(a, b)
                assert (words[a] ^ t.FLIP < words[b] ^ t.FLIP) == (a < b)


def test_a_thousand_nodes_get_everything_though_their_tables_still_change() -> None:
    """Vitis section IV-B: a hit ratio of 100% in all settings. As many nodes on a topic as in the paper."""
    raw = {
        "stack": {"overlay": "vitis", "ordering": "unordered", "repair": 0, "table": 15},
        "subscriptions": {"kind": "buckets", "topics": 500, "each": 50},
        "workload": {"kind": "rated", "messages": 500, "begin": 40, "per": 100},
        "network": {"kind": "cycles", "upkeep": False},
        "end": 40 + 5 + 60,
    }
    assert hits(run(scenario(nodes=1000, **raw), "fast").trace).ratio == 1.0
    hasty = raw | {"stack": raw["stack"] | {"grace": 1}}
    assert 0.9 < hits(run(scenario(nodes=1000, **hasty), "fast").trace).ratio < 1.0

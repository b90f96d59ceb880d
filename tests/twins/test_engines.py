"""The compiled engine beside the reference: the same rows, whatever the scenario, also where nothing is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from trellis import draw
from trellis.errors import UnsupportedByEngine
from trellis.protocols import FIXED
from trellis.protocols.parts.company import fanout_of
from trellis.scenario.load import from_mapping
from trellis.scenario.model import Queue, Random
from trellis.scenario.path import one_event
from trellis.sim import run
from trellis.sim.fast import TWINS, code, covers
from trellis.sim.fast.gossips import damulticast_packets as said_by
from trellis.sim.fast.gossips import gossip
from trellis.sim.fast.gossips.gossiping import NUMBERS, fanouts, first_without
from trellis.sim.fast.trees import rooted
from trellis.sim.fast.trees import vcube_printed as kernel
from trellis.sim.fast.trees import vcube_records as vcube
from trellis.swarm.twins import Comparison, compare, first_difference, scenario_of

STACKS = [(overlay, ordering) for overlay, twin in TWINS.items() for ordering in twin.orders]
SCENARIOS = 100


STACK = {"overlay": "vcube-printed", "ordering": "causal"}
VCUBE = {"overlay": "vcube", "ordering": "causal"}
GOSSIP = {"overlay": "damulticast-printed", "ordering": "unordered"}
REPAIRED = {"overlay": "damulticast", "ordering": "unordered"}
CRASH = {"kind": "crash", "at": 3, "node": 1}


def scenario(nodes: int = 24, **more):
    raw = {
        "name": "engines",
        "seed": 5,
        "stack": STACK,
        "nodes": {"count": nodes},
        "subscriptions": {"kind": "fraction", "fraction": 1.0},
        "workload": {"kind": "once-each", "publishers": 1.0, "window": 300},
        "network": {"kind": "queue", "service": 1, "propagation": 20},
    }
    return from_mapping(raw | more)


def standing(members):
    return {"subscriptions": {"kind": "explicit", "members": members}}


def said(*messages):
    return {
        "workload": {
            "kind": "explicit",
            "messages": [{"at": 0, "node": node, "topic": topic} for node, topic in messages],
        }
    }


ROUNDS = {"nodes": 64, "stack": REPAIRED, "network": {"kind": "cycles"}, "end": 20}
ROUNDS |= standing({".": [0], ".a": [1]}) | said((0, "."))


@pytest.mark.parametrize(("overlay", "ordering"), STACKS)
def test_random_scenarios_have_the_same_rows_on_both_engines(overlay: str, ordering: str) -> None:
    tried = Comparison(overlay, ordering)
    tried.go(90_000, SCENARIOS)
    assert tried.differences == []
    assert tried.refused <= 1
    assert tried.rows > 200 * SCENARIOS


@pytest.mark.parametrize(("overlay", "ordering"), STACKS)
def test_they_have_the_same_rows_where_nothing_is_compiled(overlay: str, ordering: str) -> None:
    """So a wrong answer is known to be ours, not the compiler's. What takes many rounds is tried less often."""
    count = 3 if overlay == "damulticast" or TWINS[overlay].for_ever else 12
    command = [sys.executable, "-m", "trellis", "twins", "--overlay", overlay, "--ordering", ordering]
    told = subprocess.run(
        [*command, "--scenarios", str(count), "--seed", "91000"],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert f"{count} scenarios" in told.stdout
    assert "0 differ" in told.stdout


BROKEN = {
    "a leaver stays in everybody's view": (
        "vcube-printed",
        "import trellis.sim.fast.trees.vcube_printed as kernel\n"
        "plain = kernel.update\n"
        "kernel.update = lambda m, p, node, inside, rc: plain(m, p, node, 1, rc)\n",
    ),
    "nobody leaves the tree": (
        "single-root",
        "import trellis.sim.fast.trees.rooted as kernel\nkernel.prune = lambda *_: None\n",
    ),
    "a child that goes is still fed": (
        "brokers",
        "import trellis.sim.fast.trees.rooted as kernel\nkernel.feed_no_more = lambda *_: None\n",
    ),
    "an answer does not free a place in the window": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_publishing as kernel\n"
        "plain = kernel.upon_pub_returned\n"
        "def returned(m, rows, now, me, p, wave, served):\n"
        "    plain(m, rows, now, me, p, wave, served)\n"
        "    m[p + kernel.OUTSTANDING] += 1\n"
        "kernel.upon_pub_returned = returned\n",
    ),
    "what came before comes again": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_arrivals as kernel\nkernel.see = lambda *_: True\n",
    ),
    "whoever joins is not told what others have delivered": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_words as kernel\nkernel.merge = lambda *_: None\n",
    ),
    "a leaver serves others until all know that it left": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_arrivals as kernel\n"
        "kernel.cannot_serve = lambda m, p, height: m[p + kernel.PHASE] == kernel.OUT\n",
    ),
    "nothing is ever missing": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_ordering as kernel\nkernel.missing = lambda *_: kernel.NONE\n",
    ),
    "what was parked waits for the last predecessor, not for the first": (
        "vcube",
        "import trellis.sim.fast.trees.vcube_ordering as kernel\n"
        "def last(m, p, me, wave):\n"
        "    w = m[kernel.AT_WAVES] + wave * kernel.WAVE\n"
        "    first = m[kernel.AT_NAMES] + m[w + kernel.FOLLOWS]\n"
        "    found = [(m[d + kernel.SOURCE], m[k]) for k in range(first, first + m[w + kernel.BARRIER])\n"
        "             if m[(d := m[kernel.AT_WAVES] + m[k] * kernel.WAVE) + kernel.SOURCE] != me\n"
        "             and m[kernel.known(m, p, m[d + kernel.FROM])] & kernel.LOW < m[d + kernel.SEQ]]\n"
        "    return max(found)[1] if found else kernel.NONE\n"
        "kernel.missing = last\n",
    ),
    "nobody is told that there is no room": (
        "vitis",
        "import trellis.sim.fast.vine.neighbours as kernel\nkernel.make_room = lambda *_: None\n",
    ),
    "every gateway is as near": (
        "vitis",
        "import trellis.sim.fast.vine.ring as kernel\nkernel.near_topic = lambda *_: 0\n",
    ),
    "a path that was given up is no way any more": (
        "rendezvous",
        "import trellis.sim.fast.vine.relays as kernel\nkernel.part = lambda *_: None\n",
    ),
    "what is covered counts again": (
        "topic-overlay",
        "import trellis.sim.fast.vine.selecting as kernel\nkernel.gain_of = lambda *_: 1\n",
    ),
    "what was delivered is not followed": (
        "single-root",
        "import trellis.sim.fast.barriers as barriers\nbarriers.log = lambda *_: None\n",
    ),
    "who was drawn for another is taken for drawn": (
        "gossip-broadcast",
        "import trellis.sim.fast.gossips.gossip as kernel\n"
        "plain = kernel.few\n"
        "def forgetful(m, *more):\n"
        "    found = plain(m, *more)\n"
        "    m[kernel.STAMP] -= 1\n"
        "    return found\n"
        "kernel.few = forgetful\n",
    ),
    "everybody tells the group above": (
        "damulticast-printed",
        "import trellis.sim.fast.gossips.gossiping as whole\nwhole.first_without = lambda size, few: whole.NUMBERS\n",
    ),
    "a packet that is not lost has the number by which that was drawn": (
        "gossip-multicast",
        "import trellis.sim.fast.gossips.gossip as kernel\n"
        "plain = kernel.is_lost\n"
        "def lost(m, me, to):\n"
        "    found = plain(m, me, to)\n"
        "    m[m[kernel.net.AT_OUTGOING] + me * kernel.net.QUEUE + kernel.net.SENT] -= not found\n"
        "    return found\n"
        "kernel.is_lost = lost\n",
    ),
    "nobody speaks for its group": (
        "gossip-hierarchical",
        "import trellis.sim.fast.gossips.gossip as kernel\nkernel.tell_others = lambda *_: None\n",
    ),
    "what has just come is given at once": (
        "damulticast",
        "import trellis.sim.fast.gossips.damulticast as kernel\n"
        "plain = kernel.add\n"
        "def add(m, me, bit):\n"
        "    plain(m, me, bit)\n"
        "    m[kernel.com.home(m, me) + kernel.com.YOUNG] = 0\n"
        "kernel.add = add\n",
    ),
    "everybody that a process hears of is kept": (
        "damulticast",
        "import trellis.sim.fast.gossips.company as company\ncompany.trim = lambda m, me: company.measure(m, me)\n",
    ),
    "nobody is listed again": (
        "damulticast",
        "import trellis.sim.fast.gossips.damulticast_search as search\n"
        "plain = search.enrol\n"
        "search.enrol = lambda m, s, node, now: plain(m, s, node, now) if now == 0 else None\n",
    ),
}


@pytest.mark.parametrize(("overlay", "breaks"), BROKEN.values(), ids=BROKEN)
def test_a_kernel_that_forgets_a_rule_is_noticed(overlay: str, breaks: str) -> None:
    """A copy of the kernels in which one rule is another, in plain Python: one of so many scenarios differs."""
    program = (
        f"{breaks}"
        "from trellis.swarm.twins import Comparison\n"
        f"tried = Comparison('{overlay}', '{TWINS[overlay].orders[0]}')\n"
        "while tried.scenarios < 60 and not tried.differences:\n"
        "    tried.go(tried.scenarios, 1)\n"
        "print(len(tried.differences), *(found.says for found in tried.differences))\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    count, says = told.stdout.split(" ", 1)
    assert int(count) > 0
    assert says.startswith("row ")


def test_a_difference_is_told_by_its_first_row() -> None:
    one, other = run(scenario(8), "fast"), run(scenario(8, seed=6), "reference")
    says = first_difference(one, other)
    assert says.startswith("row ")
    assert "compiled / reference" in says


def test_auto_takes_the_compiled_engine_for_large_runs_that_it_has_a_twin_for() -> None:
    large, small = run(scenario(400)), run(scenario(8))
    assert (large.engine, small.engine) == ("fast", "reference")
    assert large.compiling > 0
    assert run(scenario(400, stack={"overlay": "single-root", "ordering": "fifo"})).engine == "reference"
    assert run(scenario(400), build=None, engine="reference").trace.digest() == large.trace.digest()


def test_auto_takes_it_for_each_run_of_those_that_come_by_the_thousand() -> None:
    """The settings of daMulticast's figures: one event among at least 300 nodes."""
    assert run(one_event((100, 100, 100), 5, GOSSIP, 0.15)).engine == "fast"
    assert run(one_event((20, 20, 20), 5, GOSSIP, 0.15)).engine == "reference"


@pytest.mark.parametrize("overlay", FIXED)
def test_the_settings_of_the_figures_have_the_same_rows(overlay: str) -> None:
    for loss, dead, group in [(0.15, 0.0, 0), (0.15, 0.3, 0), (0.575, 0.0, 1), (0.0, 0.5, -1)]:
        assert compare(one_event((300, 60, 5), 11, GOSSIP | {"overlay": overlay}, loss, dead, group))[0] == ""


def near(number: int) -> list[int]:
    return [n for n in (0, 1, *range(number - 3, number + 3), NUMBERS - 1) if 0 <= n < NUMBERS]


@pytest.mark.parametrize(
    ("size", "c"), [(1, 0), (1, 7), (2, 0), (3, 1), (10, 5), (1000, 5), (100, 10_000), (7, 1 << 40)]
)
def test_how_many_a_process_knows_goes_up_at_the_number_that_was_found(size: int, c: int) -> None:
    """The kernel compares whole numbers where the machine adds floats."""
    least, more_from = fanouts(size, c)
    for number in near(more_from):
        assert fanout_of(size, c, draw.unit(number << 11)) == least + (number >= more_from)


@pytest.mark.parametrize(("size", "few"), [(1, 1), (3, 1), (10, 5), (1000, 5), (999, 7), (5, 9)])
def test_who_is_one_of_the_few_ends_at_the_number_that_was_found(size: int, few: int) -> None:
    after = first_without(size, few)
    for number in near(after):
        assert (draw.unit(number << 11) * size < few) == (number < after)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"stack": {"overlay": "gossip", "ordering": "unordered"}}, "overlay 'gossip' has no compiled twin"),
        ({"stack": {"overlay": "vcube", "ordering": "total"}}, "'total' over 'vcube' has no compiled twin"),
        ({"stack": VCUBE | {"repair": 50}}, "stack.repair over 'vcube' has no compiled twin"),
        (
            {"stack": VCUBE, "subscriptions": {"kind": "explicit", "members": {".a": [0, 1], ".a.b": [2]}}},
            "a topic that includes others over 'vcube' has no compiled twin",
        ),
        (
            {"network": {"kind": "sites", "sites": [0, 1], "short": 1, "long": 5}},
            "network 'sites' has no compiled twin",
        ),
        ({"stack": {"overlay": "brokers", "ordering": "fifo"}}, "'fifo' over 'brokers' has no compiled twin"),
        ({"network": {"kind": "cycles"}}, "network 'cycles' has no compiled twin"),
        ({"stack": REPAIRED | {"ordering": "fifo"}}, "'fifo' over 'damulticast' has no compiled twin"),
        (ROUNDS | {"end": 65}, "an end after 64 rounds over 'damulticast' has no compiled twin"),
        (ROUNDS | said((0, "."), (0, ".")), "a second message of a source on a topic over 'damulticast' has no"),
        (ROUNDS | {"stack": REPAIRED | {"keep": 1}} | said((0, "."), (1, ".a")), "stack.keep below the number of"),
        (ROUNDS | standing({".a": [0]}) | said((0, ".a")), "a tree whose root has no subscribers over"),
        (ROUNDS | standing({".": [0], ".a": []}), "a topic without subscribers over"),
        (ROUNDS | standing({".": [0], ".a": [0, 1]}), "a node with several topics over"),
        (ROUNDS | {"topics": {".a": {"c": 2}}}, "topics with parameters of their own over"),
        (ROUNDS | standing({".": [*range(61)]}) | said(*((n, ".") for n in range(61))), "more than 60 messages over"),
        ({"network": {"kind": "cycles"}, "faults": {"stillborn": 0.5}}, "faults have no compiled twin"),
        (
            {"stack": GOSSIP, "network": {"kind": "cycles"}, "faults": {"events": [CRASH]}},
            "faults have no compiled twin",
        ),
        ({"stack": GOSSIP, "faults": {}}, "faults have no compiled twin"),
        (
            {"stack": GOSSIP, "subscriptions": {"kind": "fraction", "fraction": 1.0, "announce": True}},
            "joining and leaving over 'damulticast-printed' has no compiled twin",
        ),
        (
            {
                "stack": GOSSIP,
                "subscriptions": {"kind": "explicit", "members": {f".t{n}": [0] for n in range(61)}},
                "topics": {".t1": {"supers": [".t2"]}},
            },
            "topics.supers among more than 60 topics over 'damulticast-printed' has no compiled twin",
        ),
    ],
)
def test_what_has_no_twin_is_refused_by_name(more, why: str) -> None:
    with pytest.raises(UnsupportedByEngine, match=f"{why}.*use engine='reference'"):
        run(scenario(**more), "fast")


def test_links_that_overtake_are_refused() -> None:
    """Also where nobody has checked the scenario."""
    overtaking = Random(low=1, high=9, fifo=False)
    with pytest.raises(UnsupportedByEngine, match="overtake"):
        covers(msgspec.structs.replace(scenario(stack=STACK | {"overlay": "single-root"}), network=overtaking))


@pytest.mark.parametrize("overlay", [overlay for overlay, twin in TWINS.items() if Queue in twin.networks])
def test_tables_get_more_room_as_they_need_it(overlay: str) -> None:
    """Many messages at once wait in their publisher's queue, and more rows than there was room for at first."""
    stack = {"overlay": overlay, "ordering": TWINS[overlay].orders[0]}
    crowd = scenario(64, stack=stack, workload={"kind": "at-once", "messages": 300})
    assert compare(crowd)[0] == ""


def test_packets_that_say_more_than_there_was_room_for() -> None:
    """Sixty messages, all fellows known, and many above."""
    said = [{"at": node // 8, "node": node, "topic": "." if node < 15 else ".a"} for node in range(60)]
    talk = scenario(
        60,
        stack={"overlay": "damulticast", "ordering": "unordered", "c": 40, "z": 15, "a": 3},
        subscriptions={"kind": "explicit", "members": {".": list(range(15)), ".a": list(range(15, 60))}},
        workload={"kind": "explicit", "messages": said},
        network={"kind": "cycles", "loss": 0.5},
        end=16,
    )
    assert compare(talk)[0] == ""


def test_the_setting_of_repair_has_the_same_rows() -> None:
    for dead in (0.0, 0.3):
        assert compare(one_event((150, 30, 5), 11, REPAIRED, 0.15, dead, end=40))[0] == ""


def test_whoever_forgets_all_above_is_left_to_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would have to look for them: nearly all packets are lost, and each knows one only."""
    forgetful = scenario_of(301_305, "damulticast", "unordered")
    with pytest.raises(UnsupportedByEngine, match="forgotten everybody above"):
        run(forgetful, "fast")
    monkeypatch.setattr("trellis.sim.fast.is_worth_it", lambda *_: True)
    assert run(forgetful).engine == "reference"


@pytest.mark.parametrize("overlay", ["single-root", "brokers", "vcube"])
def test_what_is_published_while_joining_goes_out_at_once_when_it_stands(overlay: str) -> None:
    """More of it than any table had room for, also if the node has changed its mind meanwhile."""
    late = [{"at": 5, "node": 7, "topic": "a", "do": "join"}, {"at": 8, "node": 7, "topic": "a", "do": "leave"}]
    early = [{"at": 6, "node": 7, "topic": "a", "payload": "x"}] * 2000
    spoken = scenario(
        9,
        stack=STACK | {"overlay": overlay},
        subscriptions={"kind": "explicit", "members": {"a": [0, 1, 2, 5]}, "changes": late},
        workload={"kind": "explicit", "messages": early},
    )
    assert compare(spoken)[0] == ""


@pytest.mark.parametrize("ordering", ["causal", "unordered"])
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_a_node_alone_joins_speaks_and_leaves_within_one_step(nodes: int, ordering: str) -> None:
    """Nobody is asked, so nothing takes any time; also if it comes back and speaks while the others are leaving."""
    does = ["join", "leave", "join", "leave", "join"]
    changes = [
        {"at": 10 * n + node, "node": node, "topic": "a", "do": d} for n, d in enumerate(does) for node in range(nodes)
    ]
    said = [{"at": 20 * n + node, "node": node, "topic": "a"} for n in (0, 1, 2, 2, 3, 9) for node in range(nodes)]
    alone = scenario(
        nodes,
        stack=VCUBE | {"ordering": ordering},
        subscriptions={"kind": "explicit", "members": {"a": []}, "changes": changes},
        workload={"kind": "explicit", "messages": said},
    )
    assert compare(alone)[0] == ""


@pytest.mark.parametrize("ordering", ["causal", "unordered"])
def test_a_wave_takes_no_more_bytes_than_it_may(ordering: str) -> None:
    """Of long messages and of long barriers few go out together, also one that is too long by itself."""
    said = [{"at": 0, "node": node, "topic": "a", "payload": "x"} for node in range(40)]
    for n, size in enumerate([1000, 300_000, 300_000, 600_000, 10, 10, 250_000, 250_000, 30_000]):
        said += [{"at": 500 + n // 2, "node": 3, "topic": "a", "payload": "x" * size}]
        said += [{"at": 500 + n // 2, "node": 4, "topic": "a", "payload": "x" * (size // 2)}]
    long = scenario(
        40,
        stack=VCUBE | {"ordering": ordering, "window": 1},
        subscriptions={"kind": "explicit", "members": {"a": list(range(40))}},
        workload={"kind": "explicit", "messages": said},
    )
    assert compare(long)[0] == ""


def test_kernels_are_kept_by_the_state_of_all_their_sources(tmp_path: Path) -> None:
    assert code.kernels_of(str(tmp_path)).startswith(f"{tmp_path}/kernels-")
    assert len(code.fingerprint()) == 16


GOLDEN = {
    0: "76f65f19f79d0c6d17cda47adfa0d89228ce9e4604cdf5e9d200a4a3ef8f99d6",
    1: "a1d3b7c1246ed2d1f5b22d1ccd3640f5a4eae0052e3c61196a6671702640aa3c",
    2: "999d57a8215a754b3649389671e1c402d0f61e169b5a1337e55a0469b2c6a250",
    3: "4f3051367452245fddc214345f54748c8e905964319b13330ef353a8c348cc28",
    4: "9dc97a65d82923c0403009a6cde3a9e39f5bfbd2e77ceb050ee5b8e919b166ed",
    5: "89f35ca3744186baaa8de2fa9e74ce060a7e0346962f6304f7c4b5fda9bf3d24",
    6: "dcbea5604f0110f6b7608c773a821a3c92b846dffae0853f52c6b92f1edf57b3",
    7: "f4f55fc59fec1c0ed42b19d38ed178b364e2302a7be3bbea3f9b1265c80ea96f",
    8: "b85950925b07bae3998ca78b3f2a18381156791753c1e1a58baef5c203a29ef0",
    9: "eeae1fe1ff8a151d6dbfe9d1de6a41d0a6bcc69af58d40dbb4a2a0094f2f68c2",
    10: "ef81c08a11be44e48c6319553be8371d7367ea9660ef0f15a04aec91eb03607a",
    11: "457db60ea8c3db4bc8153afd0b0f5989f5da3863bacaca337bc828de0366651d",
}


LAYERED = {  # the first digits
    ("single-root", "causal", 0): "8bc756ec55698fbc",
    ("single-root", "causal", 1): "e54cb8a8df19b483",
    ("single-root", "causal", 2): "03efb693dc914bdd",
    ("single-root", "causal", 5): "01d8ccd6fbb6ddaa",
    ("single-root", "unordered", 0): "c1d3cb7040da3032",
    ("single-root", "unordered", 1): "e54cb8a8df19b483",
    ("single-root", "unordered", 2): "62eeb3c00a015414",
    ("single-root", "unordered", 5): "a4ae4eae6e2f855c",
    ("brokers", "causal", 0): "4071752c2024892b",
    ("brokers", "causal", 1): "2b2016cc83c11739",
    ("brokers", "causal", 2): "cc6d72f03b1c737b",
    ("brokers", "causal", 5): "6c7f2a17305a78fd",
    ("brokers", "unordered", 0): "402caac0cb2fece8",
    ("brokers", "unordered", 1): "2b2016cc83c11739",
    ("brokers", "unordered", 2): "d0fcddab71c0325b",
    ("brokers", "unordered", 5): "6ecc9292803b2016",
    ("vcube", "causal", 0): "5a1e831abd014593",
    ("vcube", "causal", 1): "9e4e6555973ee338",
    ("vcube", "causal", 2): "f9494dd17e98d0a8",
    ("vcube", "causal", 3): "d9306f77bbe8a37f",
    ("vcube", "causal", 4): "e65e015df0514e76",
    ("vcube", "causal", 5): "42e53a9646b89b6f",
    ("vcube", "unordered", 0): "d4f19cbff21026de",
    ("vcube", "unordered", 1): "9e4e6555973ee338",
    ("vcube", "unordered", 2): "614d3e6dd057866f",
    ("vcube", "unordered", 3): "178bd192c1d8ccd7",
    ("vcube", "unordered", 4): "e19191e95918743c",
    ("vcube", "unordered", 5): "6aa0644274699336",
    ("damulticast", "unordered", 15): "1f7e55739004ec6c",
    ("damulticast", "unordered", 21): "6081ef2dfa96e896",
    ("damulticast", "unordered", 27): "68148d1af2a11d42",
    ("damulticast-printed", "unordered", 0): "6304a86d1f74fc50",
    ("damulticast-printed", "unordered", 2): "3b3cc139f8787a58",
    ("damulticast-printed", "unordered", 3): "5c2d4abae0766438",
    ("gossip-broadcast", "unordered", 2): "f0700c7703779e17",
    ("gossip-broadcast", "unordered", 5): "35e957b48986ffe9",
    ("gossip-multicast", "unordered", 2): "75fe29165e8f07d2",
    ("gossip-multicast", "unordered", 5): "70adb4f3a7494ef6",
    ("gossip-hierarchical", "unordered", 0): "b4f844ab8238dea1",
    ("gossip-hierarchical", "unordered", 5): "cbcec4509d6a7a28",
    ("vitis", "unordered", 0): "e03dadac551251ac",
    ("vitis", "unordered", 1): "218a721f328f8a90",
    ("rendezvous", "unordered", 0): "28c4af6f4b3cfc3e",
    ("rendezvous", "unordered", 1): "bd12e906ca02264b",
    ("topic-overlay", "unordered", 0): "0769c5714117ca2a",
    ("topic-overlay", "unordered", 1): "36957239b879e45a",
}


@pytest.mark.parametrize(("seed", "digest"), GOLDEN.items())
def test_digests_are_what_they_were(seed: int, digest: str) -> None:
    """The same on any machine, and with every later version of a kernel."""
    ordering = ("causal", "unordered")[seed % 2]
    assert run(scenario_of(seed, "vcube-printed", ordering), "fast").trace.digest() == digest


@pytest.mark.parametrize(("overlay", "ordering", "seed"), LAYERED)
def test_digests_of_overlays_below_an_order_are_what_they_were(overlay: str, ordering: str, seed: int) -> None:
    digest = run(scenario_of(seed, overlay, ordering), "fast").trace.digest()
    assert digest.startswith(LAYERED[overlay, ordering, seed])


def test_names_of_packets_are_those_of_the_machine() -> None:
    from trellis.protocols.overlays import damulticast_packets, vcube_packets
    from trellis.protocols.overlays import vcube_printed as machine
    from trellis.protocols.overlays.gossip import Gossip
    from trellis.protocols.parts import relay

    assert kernel.PACKETS[1:] == [machine.SUB, machine.UNS, machine.PUB, machine.ACK]
    packets = (relay.Root, relay.Pub, relay.Sub, relay.Welcome, relay.Uns)
    assert rooted.PACKETS[1:] == [packet.kind for packet in packets]
    assert gossip.PACKETS[1:] == [Gossip.kind]
    of = damulticast_packets
    packets = (Gossip, of.Digest, of.Holdings, of.Refill, of.Search, of.Found)
    assert said_by.PACKETS[1:] == [packet.kind for packet in packets]
    of = vcube_packets
    assert vcube.PACKETS[1:] == [packet.kind for packet in (of.Sub, of.Cut, of.Uns, of.Pub, of.Ack, of.Refuse)]

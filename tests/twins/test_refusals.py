"""What the compiled engine has no twin for is refused by name."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from engines import CRASH, GOSSIP, REPAIRED, ROUNDS, STACK, VCUBE, said, scenario, standing

from trellis.errors import UnsupportedByEngine
from trellis.scenario.model import Random
from trellis.sim import run
from trellis.sim.fast import covers


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


def test_what_has_no_room_is_refused_in_one_line(tmp_path: Path) -> None:
    """32,768 nodes that all announce themselves want 17 GB of acknowledgements."""
    crowd = scenario(
        1 << 15,
        subscriptions={"kind": "fraction", "fraction": 1.0, "announce": True},
        workload={"kind": "at-once", "messages": 1},
    )
    covers(crowd)
    path = tmp_path / "crowd.json"
    path.write_bytes(crowd.to_json())
    told = subprocess.run(
        [sys.executable, "-m", "trellis", "run", path, "--engine", "fast"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 2, told.stderr
    assert "take more memory than there is; use engine='reference' or fewer of them" in " ".join(told.stderr.split())
    assert "Traceback" not in told.stderr

"""Scenarios of the tests that hold the compiled engine to the reference."""

from __future__ import annotations

from trellis.scenario.load import from_mapping

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

"""What the tests of bad input share: plain scenarios to spoil, and how to write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

SEED_LIMIT = (1 << 63) - 1
PLAIN = {
    "name": "small",
    "seed": 1,
    "stack": {"overlay": "vcube", "ordering": "causal"},
    "nodes": {"count": 8},
    "subscriptions": {"kind": "fraction", "fraction": 1.0},
    "workload": {"kind": "once-each", "publishers": 0.5, "window": 100},
    "network": {"kind": "queue", "service": 1, "propagation": 100},
}
NAMED = {
    **PLAIN,
    "subscriptions": {"kind": "explicit", "members": {"a": [0, 1, 2]}},
    "workload": {"kind": "explicit", "messages": [{"at": 5, "node": 0, "topic": "a"}]},
}
SESSIONS = {
    **PLAIN,
    "subscriptions": {"kind": "sessions", "subscribers": 3, "session": 100},
    "workload": {"kind": "periodic", "interval": 50},
    "end": 1000,
}
AT_ONCE = {"kind": "at-once", "messages": 3}
TOPICS = {"kind": "topics", "messages": 20, "interval": 5}
GONE = object()  # the key is left out
DEEP = 50_000


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


def scenario_file(directory: Path, scenario: Any) -> Path:
    path = directory / "scenario.json"
    path.write_text(json.dumps(scenario))
    return path


def changed(scenario: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    """A copy with one key set, added or left out; `place` is dotted."""
    copy: dict[str, Any] = json.loads(json.dumps(scenario))
    *path, last = place.split(".")
    here: Any = copy
    for key in path:
        here = here[int(key)] if key.isdecimal() else here[key]
    if value is GONE:
        del here[last]
    else:
        here[int(last) if last.isdecimal() else last] = value
    return copy


def everything_in(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}

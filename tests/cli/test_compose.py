"""trellis compose: a scenario with what public traces say, or one line for parts that do not fit together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trellis.scenario import load
from trellis.scenario.model import Explicit, Faults

S = 1_000_000
PART: dict[str, Any] = {
    "name": "part",
    "seed": 1,
    "stack": {"overlay": "damulticast", "ordering": "fifo"},
    "workload": {"kind": "rated", "messages": 6, "begin": 2},
    "network": {"kind": "cycles"},
    "end": 12,
}
BUCKETS = {"kind": "buckets", "topics": 4, "each": 2}


@pytest.fixture
def part(tmp_path: Path):
    def write(**edits: Any) -> Path:
        path = tmp_path / "part.json"
        path.write_text(json.dumps(PART | edits))
        return path

    return write


@pytest.fixture
def tables(tmp_path: Path):
    """A directory with these tables, as an ingest leaves them."""

    def write(name: str, **told: dict[str, list[Any]]) -> Path:
        for table, columns in told.items():
            (tmp_path / name / table).mkdir(parents=True)
            pq.write_table(pa.table(columns), tmp_path / name / table / "part-0.parquet")
        return tmp_path / name

    return write


@pytest.fixture
def follows(tables) -> Path:
    users = {"node": [0, 1, 2, 3], "name": ["10", "11", "12", "13"]}
    return tables("follows", nodes=users, subscriptions={"node": [0, 1, 2, 2], "topic": [1, 0, 0, 1]})


@pytest.fixture
def sessions(tables) -> Path:
    """Four nodes; the second comes at 40 s, the third goes at 60 s and is back at 80 s, the fourth is never up."""
    up = [(0, 10, 210), (1, 40, 210), (2, 10, 60), (2, 80, 210)]
    node, start, end = (list(column) for column in zip(*up, strict=True))
    times = {"node": node, "start": [t * S for t in start], "end": [t * S for t in end]}
    return tables("sessions", nodes={"node": [0, 1, 2, 3], "name": list("abcd")}, sessions=times)


def test_whoever_follows_subscribes_and_whoever_is_not_up_has_crashed(trellis, tmp_path, part, follows, sessions):
    whole = tmp_path / "whole.json"
    traces = ("--follows", follows, "--sessions", sessions, "--round", 10)
    outcome = trellis("compose", part(), *traces, "--out", whole)
    assert (outcome.code, outcome.err) == (0, "")
    scenario = load(whole)
    assert scenario.nodes.count == 4
    assert scenario.subscriptions == Explicit(members={"t0": [1, 2], "t1": [0, 2]})
    assert isinstance(scenario.faults, Faults)
    told = [(crash.node, crash.at, crash.restart) for crash in scenario.faults.events]
    assert told == [(1, 0, 3), (3, 0, None), (2, 5, 7)]
    figures = dict(line.rsplit(maxsplit=1) for line in outcome.out.splitlines())
    assert (figures["follows"], figures["present"], figures["never"]) == ("4", "2", "1")
    assert figures["faults until the end"] == "3"
    assert trellis("run", whole, "--json").code == 0


def test_any_subscriptions_go_with_comings_from_a_given_moment_on(trellis, tmp_path, part, sessions):
    whole = tmp_path / "whole.json"
    only = ("--sessions", sessions, "--round", 10, "--from", 70, "--nodes", 3)
    assert trellis("compose", part(subscriptions=BUCKETS), *only, "--out", whole).code == 0
    faults = load(whole).faults
    assert isinstance(faults, Faults)
    assert [(crash.node, crash.at, crash.restart) for crash in faults.events[:1]] == [(2, 0, 1)]


@pytest.mark.parametrize(
    ("edits", "options", "says"),
    [
        ({}, ("--sessions", "SESSIONS"), "--sessions and --round: the one needs the other; give both or none"),
        ({}, ("--nodes", 3), "--from and --nodes: they are for --sessions; leave them out"),
        (
            {},
            ("--follows", "FOLLOWS", "--sessions", "SESSIONS", "--round", 10, "--nodes", 3),
            "the follow graph has 4 users, the trace of who is up 3 nodes; sample the one, or ask for fewer",
        ),
        (
            {"nodes": {"count": 8}},
            ("--follows", "FOLLOWS"),
            "nodes.count = 8: the follow graph has 4 users; leave it out",
        ),
        (
            {"nodes": {"count": 8}, "subscriptions": BUCKETS},
            ("--sessions", "SESSIONS", "--round", 10),
            "nodes.count = 8: the trace of who is up has 4 nodes; use as many, or ask for as many of its nodes",
        ),
        (
            {"subscriptions": BUCKETS},
            ("--follows", "FOLLOWS"),
            "subscriptions: they come from the follow graph; leave them out",
        ),
        (
            {"subscriptions": BUCKETS},
            ("--sessions", "SESSIONS", "--round", 10, "--nodes", 5),
            "4 nodes; 5 were asked for; use at most 4",
        ),
        ({}, ("--sessions", "SESSIONS", "--round", "nan"), "Invalid value for '--round'"),
        ({}, ("--follows", "SESSIONS"), "no table of subscriptions in it"),
        ({}, ("--follows", "NOWHERE"), "no table of nodes in it"),
        ({}, (), "nodes is missing"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused_and_nothing_is_written(
    refused, tmp_path, part, follows, sessions, edits, options, says
):
    places = {"FOLLOWS": follows, "SESSIONS": sessions, "NOWHERE": tmp_path / "nowhere"}
    line = refused("compose", part(**edits), *(places.get(o, o) for o in options), "--out", tmp_path / "whole.json")
    assert says in line
    assert not (tmp_path / "whole.json").exists()


def test_tables_of_something_else_are_refused(refused, tmp_path, part, tables):
    strange = tables("strange", nodes={"node": ["a", "b"]}, subscriptions={"node": [0], "topic": [1]})
    line = refused("compose", part(), "--follows", strange, "--out", tmp_path / "whole.json")
    assert "its table of nodes is not one of ours; ingest follows first" in line


def test_no_file_is_replaced(refused, tmp_path, part, follows):
    whole = tmp_path / "whole.json"
    whole.write_text("mine")
    assert "it is there already" in refused("compose", part(), "--follows", follows, "--out", whole)
    assert whole.read_text() == "mine"

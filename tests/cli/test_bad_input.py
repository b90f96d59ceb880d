"""Bad input at the command line: one clear line on standard error, exit code 2, nothing lost, nothing half-written.

Promises: every command is tried with what a user can get wrong, and the line is compared by the words that matter: the
          thing, its value, the rule. Exit code 1 stays reserved for broken promises.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trellis import cli
from trellis.scenario.model import COUNT_MAX, TIME_MAX, TOPICS_MAX
from trellis.trace.rows import Row
from trellis.trace.table import trace_of

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


@pytest.fixture
def trellis(monkeypatch, capsys):
    """Call the command line in this process; a traceback would come out as an exception and fail the test."""

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["trellis", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        said = capsys.readouterr()
        return Outcome(left.value.code, said.out, said.err)

    return call


@pytest.fixture
def refused(trellis):
    """Call it and demand one line, exit code 2 and a silent standard output; the line comes back."""

    def call(*arguments: object) -> str:
        outcome = trellis(*arguments)
        assert outcome.code == 2, outcome
        assert outcome.out == ""
        assert outcome.err.startswith("trellis: ")
        assert outcome.err.count("\n") == 1
        assert outcome.err[:-1].isprintable()
        assert len(outcome.err) < 1100
        return outcome.err

    return call


@pytest.fixture
def written(tmp_path, trellis):
    """The directory of a small run."""
    directory = tmp_path / "run"
    assert trellis("run", scenario_file(tmp_path, PLAIN), "--out", directory).code == 0
    return directory


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


# What one key may hold.


@pytest.mark.parametrize(
    "place",
    [*PLAIN, "stack.overlay", "stack.ordering", "nodes.count", "subscriptions.kind", "workload.window"],
)
def test_a_missing_key_is_named(refused, tmp_path, place):
    line = refused("run", scenario_file(tmp_path, changed(PLAIN, place, GONE)))
    assert f"scenario.json: {place} is missing: it has no default; add it to " in line


@pytest.mark.parametrize(
    ("place", "typo", "meant"),
    [
        ("", "sed", "seed"),
        ("stack.", "overlya", "overlay"),
        ("network.", "propagatoin", "propagation"),
        ("workload.messages.0.", "topik", "topic"),
    ],
)
def test_an_unknown_key_is_answered_with_the_one_that_was_meant(refused, tmp_path, place, typo, meant):
    base = NAMED if "messages" in place else PLAIN
    line = refused("run", scenario_file(tmp_path, changed(base, place + typo, 1)))
    assert f"{typo}: no such key; did you mean {meant!r}?" in line
    assert place.replace(".0", "[0]") + typo in line


@pytest.mark.parametrize("key", ["a\nb", "\x1b[31m", "", "k" * 100_000, "a`b"])
def test_a_senseless_key_is_refused_in_one_short_line(refused, tmp_path, key):
    assert "no such key" in refused("run", scenario_file(tmp_path, {**PLAIN, key: 1}))


@pytest.mark.parametrize(
    ("place", "value", "rule"),
    [
        ("name", 5, "name = 5: expected `str`, got `int`"),
        ("name", "", "name = '': expected `str` of length >= 1"),
        ("seed", True, "seed = True: expected `int`, got `bool`"),
        ("seed", 1.5, "seed = 1.5: expected `int`, got `float`"),
        ("seed", None, "seed = None: expected `int`, got `null`"),
        ("seed", -1, "seed = -1: expected `int` >= 0"),
        ("seed", 1 << 63, f"seed = {1 << 63}: expected `int` <= {SEED_LIMIT}"),
        ("stack", [], "stack = []: expected `object`, got `array`"),
        ("stack.overlay", "ring", "stack.overlay = 'ring': no such overlay; there are vcube"),
        ("stack.ordering", "total", "stack.ordering = 'total': no such ordering; there are unordered"),
        ("stack.brokers", 3, "stack.brokers = 3: overlay 'vcube' does not take it; it belongs to brokers"),
        ("stack.window", 0, "stack.window = 0: expected `int` >= 1"),
        ("nodes.count", 0, "nodes.count = 0: expected `int` >= 1"),
        ("nodes.count", 1 << 31, f"nodes.count = {1 << 31}: expected `int` <= {1 << 20}"),
        ("subscriptions.kind", "fractoin", "subscriptions.kind = 'fractoin': no such kind; there are fraction"),
        ("subscriptions.fraction", float("nan"), "subscriptions.fraction = nan: expected `float` >= 0.0"),
        ("subscriptions.fraction", float("inf"), "subscriptions.fraction = inf: expected `float` <= 1.0"),
        ("subscriptions.topics", 1 << 31, f"subscriptions.topics = {1 << 31}: expected `int` <= {TOPICS_MAX}"),
        ("workload.kind", "zz", "workload.kind = 'zz': no such kind; there are once-each"),
        ("network.kind", "zz", "network.kind = 'zz': no such kind; there are queue"),
        ("network", "queue", "network = 'queue': expected `object`, got `str`"),
        ("network.propagation", 0, "network.propagation = 0: expected `int` >= 1"),
        ("end", -1, "end = -1: expected `int` >= 0"),
    ],
)
def test_a_wrong_value_is_shown_with_its_rule(refused, tmp_path, place, value, rule):
    assert f"scenario.json: {rule}" in refused("run", scenario_file(tmp_path, changed(PLAIN, place, value)))


@pytest.mark.parametrize("value", [TIME_MAX + 1, 1 << 64])
@pytest.mark.parametrize(
    ("base", "place"),
    [
        (PLAIN, "end"),
        (PLAIN, "workload.window"),
        (PLAIN, "network.service"),
        (PLAIN, "network.propagation"),
        (NAMED, "workload.messages.0.at"),
        (SESSIONS, "subscriptions.session"),
        (SESSIONS, "workload.interval"),
        ({**PLAIN, "workload": TOPICS}, "workload.interval"),
        ({**PLAIN, "workload": {"kind": "replies"}}, "workload.think"),
        ({**PLAIN, "network": {"kind": "random", "low": 1, "high": 2}}, "network.high"),
        ({**PLAIN, "network": {"kind": "matrix", "rows": [[1] * 8] * 8}}, "network.rows.0.0"),
    ],
)
def test_a_time_that_no_trace_could_hold_is_refused(refused, tmp_path, base, place, value):
    line = refused("run", scenario_file(tmp_path, changed(base, place, value)))
    assert f"expected `int` <= {TIME_MAX}" in line


@pytest.mark.parametrize("workload", [AT_ONCE, TOPICS, {"kind": "periodic", "interval": 1}])
def test_more_messages_than_can_be_planned_are_refused_at_once(refused, tmp_path, workload):
    scenario = changed({**PLAIN, "workload": workload}, "workload.messages", 1 << 31)
    line = refused("run", scenario_file(tmp_path, scenario))
    assert f"workload.messages = {1 << 31}: expected `int` <= {COUNT_MAX}" in line


@pytest.mark.parametrize(
    ("scenario", "rule"),
    [
        (changed(SESSIONS, "end", TIME_MAX), "subscriptions.session = 100: until end = "),
        (
            {**PLAIN, "workload": {"kind": "periodic", "interval": 1}, "end": TIME_MAX},
            "workload.interval = 1: until end",
        ),
        (
            {**PLAIN, "workload": {"kind": "periodic", "interval": TIME_MAX, "messages": 2}},
            f"published at {2 * TIME_MAX}, after {TIME_MAX}; lower the interval",
        ),
        (changed(SESSIONS, "end", GONE), "end is missing: churn by sessions never stops by itself"),
        ({**PLAIN, "workload": {"kind": "periodic", "interval": 10}}, "workload.messages is missing: without `end`"),
    ],
)
def test_a_scenario_that_would_hardly_ever_end_is_refused(refused, tmp_path, scenario, rule):
    assert rule in refused("run", scenario_file(tmp_path, scenario))


@pytest.mark.parametrize("exponent", [float("nan"), float("inf"), -1.0, 1e308, 10**400])
def test_an_exponent_without_sense_is_refused(refused, tmp_path, exponent):
    scenario = {**PLAIN, "workload": {**TOPICS, "law": "zipf", "exponent": exponent}}
    assert "workload.exponent = " in refused("run", scenario_file(tmp_path, scenario))


# What only several keys together show.


@pytest.mark.parametrize(
    ("messages", "rule"),
    [
        (
            [{"at": 5, "node": 5, "topic": "a"}],
            "node 5 publishes on 'a' at 5: it is not a subscriber then; let it join",
        ),
        ([{"at": 5, "node": 0, "topic": "b"}], "node 0 publishes on 'b' at 5: it is not a subscriber then"),
        ([{"at": 5, "node": 8, "topic": "a"}], "workload.messages: node 8: ids run from 0 to 7"),
        ([{"at": 5, "node": -1, "topic": "a"}], "workload.messages[0].node = -1: expected `int` >= 0"),
        ([{"node": 0, "topic": "a"}], "workload.messages[0].at is missing"),
    ],
)
def test_only_a_subscriber_may_publish(refused, tmp_path, messages, rule):
    assert rule in refused("run", scenario_file(tmp_path, changed(NAMED, "workload.messages", messages)))


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({}, "subscriptions.members = {}: there is no topic"),
        ({"a": [0, 8]}, "subscriptions.members.a: node 8: ids run from 0 to 7"),
        ({"a": [0, -1]}, "subscriptions.members.a[1] = -1: expected `int` >= 0"),
        ({"a": [0, 1, 0]}, "subscriptions.members.a: node 0 is named twice"),
        ({"a": [0], "b": [0, True]}, "subscriptions.members.b[1] = True: expected `int`, got `bool`"),
        ({"a": "01"}, "subscriptions.members.a = '01': expected `array`, got `str`"),
        ({f"t{n}": [0] for n in range(TOPICS_MAX + 1)}, f"there are {TOPICS_MAX + 1} topics; use at most {TOPICS_MAX}"),
    ],
)
def test_members_that_cannot_be_are_refused(refused, tmp_path, members, rule):
    scenario = changed(changed(NAMED, "subscriptions.members", members), "workload.messages", [])
    assert rule in refused("run", scenario_file(tmp_path, scenario))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"at": 1, "node": 0, "topic": "a", "do": "join"}, "node 0 joins 'a' at 1: it has subscribed already"),
        ({"at": 1, "node": 5, "topic": "a", "do": "leave"}, "node 5 leaves 'a' at 1: it is not a subscriber then"),
        ({"at": 1, "node": 8, "topic": "a", "do": "join"}, "subscriptions.changes: node 8: ids run from 0 to 7"),
        (
            {"at": 1, "node": 5, "topic": "a", "do": "jion"},
            "changes[0].do = 'jion': no such value; there are join, leave",
        ),
        ({"at": 1, "node": 5, "topic": "a", "doo": "join"}, "changes[0].doo: no such key; did you mean 'do'?"),
        ({"at": 1 << 63, "node": 5, "topic": "a", "do": "join"}, f"changes[0].at = {1 << 63}: expected `int` <="),
    ],
)
def test_a_change_out_of_turn_is_refused(refused, tmp_path, change, rule):
    assert rule in refused("run", scenario_file(tmp_path, changed(NAMED, "subscriptions.changes", [change])))


@pytest.mark.parametrize(
    ("stack", "rule"),
    [
        ({"overlay": "brokers", "ordering": "fifo", "brokers": 9}, "stack.brokers = 9: there are only 8 nodes"),
        (
            {"overlay": "brokers", "ordering": "fifo", "window": 2},
            "stack.window = 2: overlay 'brokers' does not take it",
        ),
        ({"overlay": "vcube-printed", "ordering": "fifo"}, "stack.ordering = 'fifo' over 'vcube-printed'"),
        ({"overlay": "vcube-printed", "ordering": "causal", "batch": 1}, "stack.batch = 1: overlay 'vcube-printed'"),
    ],
)
def test_a_stack_that_cannot_be_built_is_refused(refused, tmp_path, stack, rule):
    assert rule in refused("run", scenario_file(tmp_path, {**PLAIN, "stack": stack}))


@pytest.mark.parametrize(
    ("edits", "rule"),
    [
        (
            {"subscriptions": {"kind": "burst", "fraction": 1.0, "churn": 0.5}, "workload": AT_ONCE},
            "subscriptions.churn = 0.5: 4 nodes leave but only 0 are outside",
        ),
        (
            {"subscriptions": {"kind": "burst", "fraction": 0.5, "churn": 0.5, "announce": True}, "workload": AT_ONCE},
            "subscriptions.at = 0: with `announce` the subscribers only join at 0",
        ),
        ({"workload": {"kind": "replies", "openers": 9}}, "workload.openers = 9: only 8 nodes subscribe"),
        (
            {"subscriptions": {"kind": "fraction", "fraction": 0.0}},
            "workload.publishers = 0.5: 4 publishers but topic 't0' has 1 subscribers",
        ),
        (
            {"subscriptions": {"kind": "fraction", "fraction": 1.0, "topics": 2}, "workload": AT_ONCE},
            "workload: it speaks on one topic, but there are 2",
        ),
        (
            {"subscriptions": {"kind": "burst", "fraction": 0.5, "churn": 1.0}, "workload": TOPICS},
            "it is not a subscriber then; take another workload, or subscribers that stay",
        ),
        ({"network": {"kind": "random", "low": 5, "high": 4}}, "network.low = 5: above network.high = 4"),
        (
            {
                "stack": {"overlay": "single-root", "ordering": "causal"},
                "network": {"kind": "random", "low": 1, "high": 9, "fifo": False},
            },
            "network.fifo = False: overlay 'single-root' relies on links on which no packet overtakes another",
        ),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(refused, tmp_path, edits, rule):
    line = refused("run", scenario_file(tmp_path, {**PLAIN, **edits}))
    assert line.startswith(f"trellis: {tmp_path / 'scenario.json'}: ")
    assert rule in line


@pytest.mark.parametrize("topic", ["", "a\nb", "a\tb", "\x1b[31mred", "\0", "x" * 300, "é" * 200, "a\u2028b", "\u202e"])
@pytest.mark.parametrize("place", ["subscriptions", "workload"])
def test_a_topic_without_a_printable_short_name_is_refused(refused, tmp_path, topic, place):
    scenario = (
        {**PLAIN, "subscriptions": {"kind": "explicit", "members": {topic: list(range(8))}}}
        if place == "subscriptions"
        else changed(NAMED, "workload.messages.0.topic", topic)
    )
    line = refused("run", scenario_file(tmp_path, scenario))
    assert "topic = " in line
    assert "a name has 1 to 256 bytes, all printable" in line or "expected `str` of length" in line


@pytest.mark.parametrize("name", ["[/]", "[bold]x[/]", "a b", "a@b", "é" * 128])
def test_a_name_is_text_and_no_markup(trellis, tmp_path, name):
    scenario = changed({**NAMED, "name": name}, "subscriptions.members", {name: [0, 1]})
    scenario = changed(scenario, "workload.messages.0.topic", name)
    directory = tmp_path / "[/]run"
    ran = trellis("run", scenario_file(tmp_path, scenario), "--out", directory)
    assert (ran.code, ran.err) == (0, "")
    assert name[:20] in ran.out
    assert f"trellis audit {directory}" in ran.out
    told = trellis("story", directory, f"0:1@{name}")
    assert told.code == 0
    assert "node 0     publish" in told.out


def test_a_broken_promise_on_a_topic_named_like_markup_is_still_exit_code_1(trellis, written):
    delivered = Row(0, 7, 3, "deliver", "[/]", 0, 0, 1, "", -1, 0, 0, 0)
    forge(written, [delivered])
    outcome = trellis("audit", written)
    assert outcome.code == 1
    assert "node 3 delivered 0:1@[/], which nobody published" in outcome.out


# The network's matrix.

SQUARE = "\n".join([",".join(["5"] * 8)] * 8)


@pytest.mark.parametrize(
    ("rows", "rule"),
    [
        ([], "network.rows: 0 rows of [] cells for 8 nodes"),
        ([[1] * 8] * 7 + [[1]], "network.rows: 8 rows of [1, 8] cells for 8 nodes"),
        ([[1] * 4] * 4, "network.rows: 4 rows of [4] cells for 8 nodes; give a square matrix"),
        ([[1, 0] + [1] * 6] * 8, "network.rows.0.1 = 0: a packet takes time; only the diagonal may be 0"),
        ([[1, -1] + [1] * 6] * 8, "network.rows[0][1] = -1: expected `int` >= 0"),
        ([[1.5] * 8] * 8, "network.rows[0][0] = 1.5: expected `int`, got `float`"),
        ("x", "network.rows = 'x': expected `array`, got `str`"),
    ],
)
def test_a_matrix_that_is_not_one_is_refused(refused, tmp_path, rows, rule):
    assert rule in refused("run", scenario_file(tmp_path, {**PLAIN, "network": {"kind": "matrix", "rows": rows}}))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "network.rows: 0 rows"),
        (SQUARE.replace("5,5", "5,0", 1), "row 1, cell 2 is '0': a time is a whole number from 1"),
        (SQUARE + ",-5", "row 8, cell 9 is '-5'"),
        (SQUARE.replace("5", "1.5"), "row 1, cell 1 is '1.5'"),
        (SQUARE.replace("5", "1_0"), "row 1, cell 1 is '1_0'"),
        (SQUARE.replace("5", str(1 << 63)), f"row 1, cell 1 is '{1 << 63}'"),
        (SQUARE.replace("5", "9" * 5000, 1), "row 1, cell 1 is '9999"),
        ("a,b\n" + SQUARE, "row 1, cell 1 is 'a'"),
        (SQUARE + ",5", "8 rows of [8, 9] cells"),
        (b"\xff\xfe\x00", "not a CSV file"),
        ('"' + "5" * 200_000, "not a CSV file"),
    ],
)
def test_a_matrix_file_that_is_not_one_is_refused(refused, tmp_path, text, rule):
    (tmp_path / "times.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    network = {"kind": "matrix", "file": "times.csv"}
    assert rule in refused("run", scenario_file(tmp_path, {**PLAIN, "network": network}))


@pytest.mark.parametrize(
    ("network", "rule"),
    [
        ({"file": "nope.csv"}, "nope.csv': cannot be read (No such file or directory); give the path of a CSV file"),
        ({"file": "."}, "cannot be read (Is a directory)"),
        ({"file": "a\0b"}, "network.file = "),
        ({"file": "x.csv", "rows": [[1] * 8] * 8}, "network.file and network.rows: both give the times"),
    ],
)
def test_a_matrix_file_that_cannot_be_read_is_refused(refused, tmp_path, network, rule):
    assert rule in refused("run", scenario_file(tmp_path, {**PLAIN, "network": {"kind": "matrix", **network}}))


def test_a_matrix_from_a_file_runs(trellis, tmp_path):
    (tmp_path / "times.csv").write_text("\ufeff" + SQUARE + "\n")
    outcome = trellis(
        "run", scenario_file(tmp_path, {**PLAIN, "network": {"kind": "matrix", "file": "times.csv"}}), "--json"
    )
    assert outcome.code == 0
    assert json.loads(outcome.out)["deliveries"] == 32


# Files that are no scenario.


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("x.toml", b"", "name is missing"),
        ("x.json", b"", "not valid JSON (Expecting value"),
        ("x.toml", b"\x00\x01", "not valid TOML"),
        ("x.toml", b"\xff\xfe\x00\x80", "not UTF-8 text; a scenario file is TOML"),
        ("x.json", b'{"name": "\\ud800"}', "not UTF-8 text; a scenario file is JSON"),
        ("x.json", b"[1]", "holds [1]; a scenario is a table of keys"),
        ("x.json", b"null", "holds None; a scenario is a table of keys"),
        ("x.json", b'{"seed": 1, "seed": 2}', "seed: the key is given twice"),
        ("x.toml", b"seed = 1\nseed = 2", "not valid TOML (Cannot overwrite a value"),
        ("x.json", b"[" * DEEP, "nested too deeply"),
        ("x.json", b'{"a":' * DEEP, "nested too deeply"),
        ("x.toml", b"a=" + b"[" * DEEP, "nested too deeply"),
        ("x.json", b'{"name": ' + b"[" * 900 + b"]" * 900 + b"}", "...: expected `str`, got `array`"),
        ("x.json", b'{"seed": ' + b"1" * 5000 + b"}", "a number has too many digits"),
        ("x.toml", b"seed = " + b"1" * 5000, "a number has too many digits"),
        ("x.toml", b"seed = 0x" + b"f" * 20_000, "seed = int that is too long to show: expected `int` <="),
        ("x.toml", b"seed = 1979-05-27", "expected `int`, got `date`"),
        ("x.toml", json.dumps(PLAIN).encode(), "not valid TOML"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(refused, tmp_path, name, content, rule):
    (tmp_path / name).write_bytes(content)
    assert rule in refused("run", tmp_path / name)


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("nope.toml", "nope.toml: cannot be read (No such file or directory); give the path of a scenario file"),
        ("no\npe.toml", "no\\npe.toml: cannot be read"),
        (".", "cannot be read (Is a directory)"),
        ("x" * 5000, "cannot be read (File name too long)"),
        ("a\udcff.toml", "a\\udcff.toml: cannot be read"),
        ("a\0b", "embedded null byte"),
        ("/dev/zero", "is larger than 64 MiB"),
    ],
)
def test_a_path_without_a_scenario_is_refused(refused, tmp_path, monkeypatch, path, rule):
    monkeypatch.chdir(tmp_path)
    assert rule in refused("run", path)


def test_a_file_that_may_not_be_read_is_refused(refused, tmp_path, monkeypatch):
    path = scenario_file(tmp_path, PLAIN)

    def denied(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", denied)
    assert "scenario.json: cannot be read (Permission denied)" in refused("run", path)


@pytest.mark.parametrize(
    "edits",
    [
        {"nodes": {"count": 1}, "workload": {"kind": "once-each", "publishers": 1.0, "window": 0}},
        {"end": 0},
        {"subscriptions": {"kind": "fraction", "fraction": 0.0}, "workload": AT_ONCE},
        {"network": {"kind": "cycles"}, "nodes": {"count": 1}, "workload": AT_ONCE},
        {"workload": {"kind": "once-each", "publishers": 0.0, "window": TIME_MAX}},
    ],
)
def test_the_smallest_and_the_latest_scenarios_still_run(trellis, tmp_path, edits):
    outcome = trellis("run", scenario_file(tmp_path, {**PLAIN, **edits}), "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert not any(json.loads(outcome.out)["violations"].values())


# Traces on disk.


def forge(directory: Path, rows: list[Row]) -> None:
    """Other rows, with the digest that belongs to them."""
    trace = trace_of(rows)
    pq.write_table(trace.table, directory / "trace.parquet")
    edit_about(directory, digest=trace.digest())


def edit_about(directory: Path, **edits: Any) -> None:
    about = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(
        json.dumps({key: value for key, value in {**about, **edits}.items() if value is not GONE})
    )


@pytest.mark.parametrize("command", [["audit"], ["story", "0:1@t0"]])
@pytest.mark.parametrize("kind", ["missing", "empty", "file", "line\nend"])
def test_a_place_without_a_run_is_refused(refused, tmp_path, command, kind):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    line = refused(command[0], tmp_path / kind, *command[1:])
    assert "run.json: cannot be read (" in line
    assert "give a directory that `trellis run --out` wrote" in line


def test_a_trace_cut_anywhere_is_refused(refused, written):
    whole = (written / "trace.parquet").read_bytes()
    for length in [*range(12), *range(12, len(whole), len(whole) // 25), *range(len(whole) - 12, len(whole))]:
        (written / "trace.parquet").write_bytes(whole[:length])
        assert "trace.parquet: not a whole Parquet file (" in refused("audit", written)


def test_a_trace_with_flipped_bits_is_never_a_traceback_and_never_another_verdict(trellis, written):
    whole = (written / "trace.parquet").read_bytes()
    before = trellis("audit", written)
    codes = []
    for n in range(0, len(whole), len(whole) // 60):
        (written / "trace.parquet").write_bytes(whole[:n] + bytes([whole[n] ^ 1 << n % 8]) + whole[n + 1 :])
        outcome = trellis("audit", written)
        assert outcome == before or (outcome.code == 2 and outcome.err.count("\n") == 1)
        codes.append(outcome.code)
    assert codes.count(2) > len(codes) // 2


@pytest.mark.parametrize(
    ("column", "values", "rule"),
    [
        ("seq", None, "column 'seq' is missing; a trace has position, at"),
        ("at", pa.scalar("x"), "wrong types ("),
        ("at", pa.scalar(1.5), "wrong types ("),
        ("at", pa.scalar([1]), "wrong types ("),
        ("node", pa.scalar(1 << 40), "wrong types ("),
        ("kind", pa.scalar(1), "wrong types ("),
        ("at", pa.scalar(None, pa.int64()), "column 'at' has empty cells"),
        ("topic", pa.scalar(None, pa.string()), "column 'topic' has empty cells"),
        ("at", pa.scalar(7), "its digest is not the one in run.json"),
    ],
)
def test_a_trace_with_other_columns_is_refused(refused, written, column, values, rule):
    table = pq.read_table(written / "trace.parquet")
    place = table.column_names.index(column)
    table = table.remove_column(place)
    if values is not None:
        table = table.add_column(place, column, pa.repeat(values, len(table)))
    pq.write_table(table, written / "trace.parquet")
    for command in (["audit", written], ["story", written, "0:1@t0"]):
        assert f"trace.parquet: {rule}" in refused(*command)


def test_a_trace_with_fewer_rows_than_its_digest_says_is_refused(refused, written):
    pq.write_table(pq.read_table(written / "trace.parquet").slice(0, 9), written / "trace.parquet")
    assert "its digest is not the one in run.json" in refused("audit", written)


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        (Row(0, 0, 0, "shout", "t0", 0, 0, 1, "", -1, 0, 0, 0), "kind 'shout' is none of subscribe"),
        (Row(0, 0, 0, "deliver", "t0", 0, 0, -2, "", -1, 0, 0, 0), "seq of a message is negative"),
    ],
)
def test_a_trace_of_strange_rows_is_refused_even_with_its_digest(refused, written, row, rule):
    forge(written, [row])
    assert rule in refused("audit", written)


def test_a_trace_that_is_missing_or_a_directory_is_refused(refused, written):
    (written / "trace.parquet").unlink()
    assert "trace.parquet: there is no trace" in refused("audit", written)
    (written / "trace.parquet").mkdir()
    assert "trace.parquet: not a whole Parquet file (" in refused("audit", written)


@pytest.mark.parametrize(
    ("edits", "rule"),
    [
        ({"ordering": GONE}, "run.json: ordering = None: expected a str"),
        ({"ordering": []}, "run.json: ordering = []: expected a str"),
        ({"ordering": "total"}, "run.json says ordering 'total'; there are unordered, fifo, causal"),
        ({"ordering": "unordered"}, "run.json says ordering 'unordered', but its scenario 'causal'"),
        ({"digest": GONE}, "run.json: digest = None: expected a str"),
        ({"digest": 5}, "run.json: digest = 5: expected a str"),
        ({"digest": "ab"}, "its digest is not the one in run.json"),
        ({"quiet": "no"}, "run.json: quiet = 'no': expected a bool"),
    ],
)
def test_a_run_json_that_says_something_else_is_refused(refused, written, edits, rule):
    edit_about(written, **edits)
    assert rule in refused("audit", written)


@pytest.mark.parametrize("content", [b"[1]", b"null", b"5", b'"x"', b"[" * DEEP, b"1" * 5000, b"\xff\xc0", b""])
def test_a_run_json_that_is_no_object_is_refused(refused, written, content):
    (written / "run.json").write_bytes(content)
    line = refused("audit", written)
    assert "run.json: holds a " in line or "run.json: not valid JSON (" in line


def test_a_run_json_cut_anywhere_is_refused(refused, written):
    whole = (written / "run.json").read_bytes().rstrip()
    for length in range(0, len(whole), len(whole) // 20):
        (written / "run.json").write_bytes(whole[:length])
        assert "run.json: not valid JSON (" in refused("audit", written)


def test_a_run_json_with_more_in_it_is_read(trellis, written):
    edit_about(written, note="mine", scenario=["not", "looked", "at"])
    assert trellis("audit", written).code == 0


@pytest.mark.parametrize(
    "name", ["", "x", "0", "0:", "0:1@", ":1@t0", " 0:1@t0", "0:1@t0\n", "²:1", "٣:1", "9" * 5000 + ":1", "\udcff"]
)
def test_a_senseless_message_name_is_refused(refused, written, name):
    assert "not a message; write SOURCE:NUMBER@TOPIC, as in 3:7@news" in refused("story", written, name)


@pytest.mark.parametrize("name", ["99:1@t0", "0:99@t0", "0:-1@t0", "0.9:1@t0", "0:1@zz", "0:1@[/]", "0:1@\x1b[31m"])
def test_a_message_that_never_was_is_answered_with_some_that_were(refused, written, name):
    assert "nothing happened to it; 4 were published, as 0:1@t0, " in refused("story", written, name)


# Where a run is written.


@pytest.mark.parametrize("command", ["run", "swarm", "demo"])
@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ("full", "full: not empty and not a run; give a new directory"),
        ("mine", "mine: not empty and not a run; give a new directory"),
        ("precious", "precious: not empty and not a run; give a new directory"),
        ("file", "file: a file stands there; give a new directory"),
        ("file/below", "below: nothing can be written in "),
        ("a" * 300, "cannot be written (File name too long)"),
    ],
)
def test_nothing_is_ever_written_over_what_is_not_a_run(refused, tmp_path, command, place, rule):
    for name, entries in (
        ("full", ["keep"]),
        ("mine", ["run.json"]),
        ("precious", ["run.json", "trace.parquet", "thesis.tex"]),
    ):
        (tmp_path / name).mkdir()
        for entry in entries:
            (tmp_path / name / entry).write_text("keep me")
    (tmp_path / "file").write_text("keep me")
    arguments = {"run": [scenario_file(tmp_path, PLAIN)], "swarm": ["--schedules", 1], "demo": []}[command]
    before = everything_in(tmp_path)
    assert rule in refused(command, *arguments, "--out", tmp_path / place)
    assert everything_in(tmp_path) == before


def test_the_place_is_refused_before_the_run_and_not_after_it(refused, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setattr("trellis.sim.run", lambda *_: pytest.fail("it ran"))
    assert "a file stands there" in refused("run", scenario_file(tmp_path, PLAIN), "--out", tmp_path / "file")


def test_a_place_that_may_not_be_written_is_refused(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    line = refused("run", scenario_file(tmp_path, PLAIN), "--out", tmp_path / "run")
    assert f"nothing can be written in {tmp_path}; give another directory" in line


def test_a_run_that_cannot_be_put_in_place_leaves_the_former_one(refused, tmp_path, written, monkeypatch):
    before = everything_in(tmp_path)
    rename = os.rename

    def failing(source: Path, target: Path) -> None:
        if source.name == "new":
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    line = refused("run", tmp_path / "scenario.json", "--seed", 2, "--out", written)
    assert "cannot be written (No space left on device)" in line
    assert everything_in(tmp_path) == before


def test_a_page_that_cannot_be_written_is_one_line_after_the_run(trellis, tmp_path, monkeypatch):
    def denied(self: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr("trellis.trace.store.write", lambda *_: None)
    monkeypatch.setattr(Path, "write_text", denied)
    outcome = trellis("demo", "--out", tmp_path / "demo")
    page = tmp_path / "demo" / "index.html"
    assert outcome.code == 2
    assert outcome.err == f"trellis: {page}: No space left on device; nothing more was written\n"


def test_a_run_replaces_a_run_also_behind_a_link(trellis, tmp_path, written):
    (tmp_path / "link").symlink_to(written)
    before = everything_in(written)
    assert trellis("run", tmp_path / "scenario.json", "--seed", 2, "--out", tmp_path / "link").code == 0
    assert (tmp_path / "link").is_symlink()
    assert json.loads((written / "run.json").read_text())["scenario"]["seed"] == 2
    assert everything_in(written).keys() == before.keys()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "run", "scenario.json"]


# Arguments.


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        (["zzz"], "No such command 'zzz'"),
        (["zz\nzz"], "No such command"),
        (["--zzz"], "No such option: --zzz"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "x", "y"], "unexpected extra argument"),
        (["run", "x", "--zzz"], "No such option: --zzz"),
        (["run", "x", "--seed", "-1"], "'--seed'"),
        (["run", "x", "--seed", "abc"], "'--seed'"),
        (["run", "x", "--seed", "1.5"], "'--seed'"),
        (["run", "x", "--seed", 1 << 63], "'--seed'"),
        (["run", "x", "--seed", 10**400], "'--seed'"),
        (["demo", "--seed", 1 << 64], "'--seed'"),
        (["demo", "--seed", "-1"], "'--seed'"),
        (["swarm", "--seed", 1 << 63], "'--seed'"),
        (["swarm", "--schedules", "0"], "'--schedules'"),
        (["swarm", "--schedules", "abc"], "'--schedules'"),
        (["swarm", "--overlay", "ring"], "stack.overlay = 'ring': no such overlay; there are vcube"),
        (["swarm", "--ordering", "total"], "stack.ordering = 'total': no such ordering"),
        (["swarm", "--overlay", "vcube-printed", "--ordering", "fifo"], "it brings its own order"),
        (["audit"], "Missing argument 'DIR'"),
        (["story", "x"], "Missing argument 'MESSAGE'"),
        (["protocols", "x"], "unexpected extra argument"),
    ],
)
def test_a_wrong_argument_is_refused(refused, arguments, rule):
    assert rule in refused(*arguments)


def test_an_unknown_engine_is_refused(refused, tmp_path):
    line = refused("run", scenario_file(tmp_path, PLAIN), "--engine", "warp")
    assert "engine 'warp': no such engine; there are reference" in line


def test_no_command_shows_the_commands_and_says_so(trellis):
    outcome = trellis()
    assert outcome.code == 2
    assert "protocols" in outcome.out
    assert outcome.err == "trellis: no command was given; choose one of those above\n"


# The same through a real process.


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    entry = "from trellis.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", entry, *map(str, arguments)], text=True, stderr=subprocess.PIPE, timeout=60, **options
    )


def test_a_process_leaves_with_2_and_one_line(tmp_path):
    left = process("run", tmp_path / "nope.toml", stdout=subprocess.PIPE)
    assert (left.returncode, left.stdout) == (2, "")
    assert left.stderr == (
        f"trellis: {tmp_path / 'nope.toml'}: cannot be read (No such file or directory); "
        "give the path of a scenario file\n"
    )


@pytest.mark.parametrize("arguments", [["protocols"], ["protocols", "--json"], ["--help"]])
def test_a_reader_that_has_gone_is_no_error(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        left = process(*arguments, stdout=pipe)
    assert (left.returncode, left.stderr) == (0, "")


def test_a_full_disk_behind_the_output_is_one_line():
    with open("/dev/full", "w") as full:
        left = process("protocols", "--json", stdout=full)
    assert left.returncode == 2
    assert left.stderr == "trellis: output: No space left on device; nothing more was written\n"

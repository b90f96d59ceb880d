"""Scenarios that cannot be run.

One clear line on standard error, exit code 2, nothing lost, nothing half-written.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bad_input import AT_ONCE, DEEP, GONE, NAMED, PLAIN, SEED_LIMIT, SESSIONS, TOPICS, changed, scenario_file

from trellis.scenario.section import COUNT_MAX, TIME_MAX, TOPICS_MAX

TOTAL = {"overlay": "vcube", "ordering": "total"}

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
        ("stack.ordering", "best", "stack.ordering = 'best': no such ordering; there are unordered"),
        ("stack.brokers", 3, "stack.brokers = 3: 'causal' over 'vcube' does not take it; it belongs to brokers"),
        ("stack.window", 0, "stack.window = 0: expected `int` >= 1"),
        ("stack.buffer", -1, "stack.buffer = -1: expected `int` >= 0"),
        ("stack.buffer", 3, "stack.buffer = 3: 'causal' over 'vcube' does not take it; it belongs to total"),
        ("stack.ttl", "long", "stack.ttl = 'long': expected `int`, got `str`"),
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
            "stack.window = 2: 'fifo' over 'brokers' does not take it",
        ),
        ({"overlay": "vcube-printed", "ordering": "fifo"}, "stack.ordering = 'fifo' over 'vcube-printed'"),
        ({"overlay": "vcube-printed", "ordering": "causal", "batch": 1}, "stack.batch = 1: 'causal' over 'vcube"),
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
        (
            {
                "stack": {"overlay": "vcube", "ordering": "total-printed"},
                "network": {"kind": "random", "low": 1, "high": 9, "fifo": False},
            },
            "network.fifo = False: ordering 'total-printed' relies on links on which no packet overtakes another; "
            "leave it true, or use ordering 'total'",
        ),
        (
            {"faults": {"lose": [{"packet": "PUB", "share": 0.1}]}},
            "faults.lose[0].packet = 'PUB': 'causal' has no packets of its own; use ordering total or",
        ),
        (
            {"stack": TOTAL, "faults": {"lose": [{"packet": "PUB", "share": 0.1}]}},
            "faults.lose[0].packet = 'PUB': not a packet of ordering 'total'; there are ASK, STAMP, ",
        ),
        (
            {"stack": TOTAL, "faults": {"lose": [{"packet": "ASK", "share": 0.1}, {"packet": "ASK", "share": 0.2}]}},
            "faults.lose[1].packet = 'ASK': it is given twice; leave one out",
        ),
        (
            {"stack": TOTAL, "faults": {"lose": [{"packet": "ASK", "share": 1.0}]}},
            "faults.lose[0].share = 1.0: expected `float` < 1.0",
        ),
        (
            {"stack": TOTAL, "faults": {"lose": [{"packet": "ASK", "share": 0.5}]}},
            "faults.lose without stack.retry: what is lost is asked for again after that time; set it, say 1000",
        ),
        (
            {
                "stack": {**TOTAL, "retry": 9},
                "network": {"kind": "cycles"},
                "faults": {"lose": [{"packet": "ASK", "share": 0.5}]},
            },
            "faults.lose with network.kind = 'cycles': rounds know `network.loss`; use that, or another network",
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


# Topics of a tree.

TREE = {
    **NAMED,
    "stack": {"overlay": "damulticast", "ordering": "fifo"},
    "subscriptions": {"kind": "explicit", "members": {".a": [0, 1], ".a.b": [2, 3]}},
    "workload": {"kind": "explicit", "messages": [{"at": 2, "node": 2, "topic": ".a.b"}]},
    "network": {"kind": "cycles"},
    "end": 60,
}


@pytest.mark.parametrize(
    ("topics", "complaint"),
    [
        ({".b": {}, ".a": {"c": "x"}}, "topics.'.a'.c = 'x': expected `int`, got `str`"),
        ({".a": {"z": 0}}, "topics.'.a'.z = 0: expected `int` >= 1"),
        ({".a": {"supers": [".b", 3]}}, "topics.'.a'.supers[1] = 3: expected `str`, got `int`"),
        ({".a": {"hops": 1}}, "topics.'.a'.hops: no such key; [topics.'.a'] has supers, c, g, a, z, tau"),
        ({".a": 7}, "topics.'.a' = 7: expected `object`, got `int`"),
        ({".a": {"supers": [".a.b"]}}, "topic '.a': it includes '.a.b', which cannot include it"),
        ({".a..b": {"c": 1}}, "topic '.a..b': a part of it is empty"),
        ({".": {"supers": [".a"]}}, "topic '.': it includes '.a', which cannot include it"),
        ({"." + ".".join("a" * 40): {}}, "40 levels; at most 32"),
        ({"." + "x" * 300: {"c": 1}}, "a name has 1 to 256 bytes"),
        ({".a\nb": {"c": 1}}, "a name has 1 to 256 bytes, all printable"),
        ({".a": {"supers": [".\u0000"]}}, "a name has 1 to 256 bytes, all printable"),
        ({"a": {"c": 1}}, "only a topic of a tree is special"),
    ],
)
def test_what_is_senseless_about_a_topic_is_named_with_the_topic(refused, tmp_path, topics, complaint):
    assert complaint in refused("run", scenario_file(tmp_path, {**TREE, "topics": topics}))
    assert len(list(tmp_path.iterdir())) == 1


def test_a_topic_is_named_also_where_subscribers_are_not(refused, tmp_path):
    line = refused("run", scenario_file(tmp_path, {**PLAIN, "topics": {".a": {"c": -1}}}))
    assert "topics.'.a'.c = -1: expected `int` >= 0" in line


@pytest.mark.parametrize("value", [-1, 17, 1.5, "x", None, [], True, 1 << 64])
def test_hops_are_few(refused, tmp_path, value):
    assert "stack.hops = " in refused("run", scenario_file(tmp_path, changed(TREE, "stack.hops", value)))

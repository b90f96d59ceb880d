"""trellis tune: a table, an object, a check; and one line for what cannot be."""

from __future__ import annotations

import json

import pytest

PAPER = ("tune", "--sizes", "1000,100,10", "--loss", "0.15", "--wanted", "0.99")


def test_the_choice_stands_beside_the_paper_s(trellis) -> None:
    outcome = trellis(*PAPER)
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split() == [
        "group", "processes", "c", "g", "a", "z", "messages", "entries", "all", "inside", "gets", "up",
    ]  # fmt: skip
    assert lines[1].split()[:6] == ["lowest", "1,000", "7", "15", "1", "3"]
    assert lines[3].split()[:3] == ["root", "10", "6"]
    assert lines[4].startswith("chosen: everybody gets an event with 0.99")
    assert lines[5].startswith("the paper's c=5 g=5 a=1 z=3: everybody gets an event with 0.8672")


def test_the_same_for_machines_with_a_check(trellis) -> None:
    outcome = trellis("tune", "--sizes", "40,20", "--loss", "0.1", "--wanted", "0.95", "--check", "40", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    found = json.loads(outcome.out)
    assert found["sizes"] == [40, 20]
    assert found["chosen"]["everybody"] >= 0.95
    assert [level["size"] for level in found["paper"]["levels"]] == [40, 20]
    check = found["check"]
    assert check["runs"] == 40
    assert check["options"] == {
        name: max(level[name] for level in found["chosen"]["levels"]) for name in ("c", "g", "a", "z")
    }
    low, high = check["interval"]
    assert 0.7 < low < check["measured"] <= high <= 1
    assert check["predicted"] >= found["chosen"]["everybody"]
    assert "one set of options for all topics" in check["note"]


def test_a_check_is_told_in_two_lines_and_a_group_alone_has_no_link(trellis) -> None:
    outcome = trellis("tune", "--sizes", "30", "--wanted", "0.9", "--check", "5")
    assert outcome.code == 0
    assert "5 runs with c=" in outcome.out
    assert "g=" not in outcome.out.split("5 runs with")[1]
    assert "everybody got it in" in outcome.out


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("--sizes", "1000,x", "--wanted", "0.9"), "'x' is no size of a group"),
        (("--sizes", "", "--wanted", "0.9"), "'' is no size of a group"),
        (("--sizes", "5,-3", "--wanted", "0.9"), "'-3' is no size of a group"),
        (("--sizes", "9" * 400, "--wanted", "0.9"), "is no size of a group"),
        (("--sizes", ",".join(["2"] * 40), "--wanted", "0.9"), "40 groups; a path has at most 32"),
        (("--sizes", "10,10", "--wanted", "1.5"), "wanted = 1.5: it is a chance"),
        (("--sizes", "10,10", "--wanted", "nan"), "wanted = nan"),
        (("--sizes", "10,10", "--wanted", "0.9", "--loss", "1"), "loss = 1: it is a share"),
        (("--sizes", "10,10", "--wanted", "0.9", "--z-min", "9", "--z-max", "2"), "z_min = 9: above z_max = 2"),
        (("--sizes", "100,2", "--wanted", "0.99", "--loss", "0.3"), "everybody gets an event with"),
        (("--sizes", "900000", "--wanted", "0.9", "--check", "1"), "--check with 900,000 processes: at most 100,000"),
    ],
)
def test_what_cannot_be_tuned_is_told_in_one_line(refused, words: tuple[str, ...], rule: str) -> None:
    assert rule in refused("tune", *words)

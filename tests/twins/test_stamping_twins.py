"""Timestamps of the TNO experiments, compiled beside the machines: the same rows, whatever the setting."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from trellis import draw
from trellis.cli import twins
from trellis.errors import UnsupportedByEngine
from trellis.experiments.tno import compared, headers, stamping
from trellis.experiments.tno.compared import compare, of_sequencer, setting
from trellis.protocols.orderings import total
from trellis.protocols.parts import desk_packets, line
from trellis.protocols.parts.groups import ALONE, SHARED
from trellis.scenario.load import from_mapping
from trellis.sim.fast.total import sequencer as kernel
from trellis.sim.fast.total.desks import covers
from trellis.sim.fast.total.sequencing import Sequencing
from trellis.sim.fast.total.sizes import size_of, size_of_all
from trellis.swarm.dice import Dice

SETTINGS = 100


def in_plain_python(program: str) -> str:
    env = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    told = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


def test_random_settings_have_the_same_rows_and_measures_on_both_engines() -> None:
    tried = of_sequencer()
    tried.go(0, SETTINGS)
    assert tried.differences == []
    assert tried.rows > 2000 * SETTINGS


def test_they_have_the_same_where_nothing_is_compiled() -> None:
    """So a wrong answer is known to be ours, not the compiler's."""
    told = in_plain_python(
        "from trellis.experiments.tno.compared import of_sequencer\n"
        "tried = of_sequencer()\n"
        "tried.go(500, 12)\n"
        "print(tried.scenarios, tried.differences)\n"
    )
    assert told == "12 []\n"


def test_the_command_tries_them_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert twins.command(sequencer=True, scenarios=3, seed=7, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["scenarios"], told["refused"], told["differences"]) == (3, 0, [])
    monkeypatch.setattr(compared, "compare", lambda *_: ("waits 1, reference 2", 5))
    assert twins.command(sequencer=True, scenarios=1, seed=7) == 1
    assert "replay: trellis twins --sequencer --scenarios 1 --seed 7" in capsys.readouterr().out


BROKEN = {
    "a desk does not learn what passes": "kernel.upon_climb = lambda m, rows, now, me, asked: kernel.fill_and_send_on("
    "m, rows, now, me, asked, m[kernel.line_at(m, m[kernel.message(m, m[kernel.question(m, asked) + kernel.OF])"
    " + kernel.LINE]) + kernel.ABOUT])",
    "two questions in a row are two": "plain = kernel.line_up\n"
    "def line_up(m, c, said):\n"
    "    s = kernel.message(m, said) + kernel.LINE\n"
    "    line, m[s] = m[s], -1\n"
    "    plain(m, c, said)\n"
    "    m[s] = line\n"
    "kernel.line_up = line_up",
    "more questions are on their way": "kernel.ASKS_MAX = 5",
    "a number takes a byte": "kernel.size_of = lambda number: 1",
    "packets overtake each other": "plain = sites.arrives\n"
    "def arrives(m, now, sender, to):\n"
    "    links = m[sites.AT_LINKS]\n"
    "    m[links : links + sites.LINK * m[kernel.DESKS] * m[sites.NODES]] = 0\n"
    "    return plain(m, now, sender, to)\n"
    "sites.arrives = arrives",
    "a client goes on without its timestamp": "plain = kernel.publish\n"
    "def publish(m, rows, now, me, c, said):\n"
    "    plain(m, rows, now, me, c, said)\n"
    "    m[c + kernel.SPEAKING] = 0\n"
    "kernel.publish = publish",
    "a server handles all at once": "sites.waits = lambda *_: False",
}


# Settings from which on one is noticed soon.
SEARCHED_FROM = {
    "a desk does not learn what passes": 1019,
    "two questions in a row are two": 1024,
    "more questions are on their way": 1054,
    "a number takes a byte": 1019,
    "packets overtake each other": 1019,
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_kernel_that_forgets_a_rule_is_noticed(name: str) -> None:
    """A copy of the kernels in which one rule is another, in plain Python."""
    told = in_plain_python(
        f"from trellis.sim.fast.total import sequencer as kernel, sites\n{BROKEN[name]}\n"
        "from trellis.experiments.tno.compared import compare, setting\n"
        f"some = map(setting, range({SEARCHED_FROM.get(name, 1000)}, 1300))\n"
        "small = (told for told in some if told[0].nodes.count * told[0].workload.until"
        " < 2000 * told[0].workload.interval)\n"
        "print(next(says for told in small if (says := compare(*told)[0])))\n"
    )
    assert "reference" in told


def test_the_rows_of_the_experiment_are_the_same_but_for_the_engine() -> None:
    """At the size of the paper, a twentieth of a second."""
    for told in ({"each": 40}, {"patient": False, "rule": ALONE}, {"desks": 1}):
        point = stamping.point(**{"shape": 0.349, "rate": 10_000, **told})
        one, other = (stamping.measured(point, 0.05, 7, engine) for engine in ("fast", "reference"))
        assert (one.pop("engine"), other.pop("engine")) == ("fast", "reference")
        assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_auto_takes_the_compiled_engine_for_large_runs() -> None:
    scenario, rule = setting(0)
    assert stamping.stamped(scenario, rule).engine == "reference"
    large = stamping.scenario(stamping.point(0.901, 5000), 0.1, 1)
    assert stamping.stamped(large, SHARED).engine == "fast"
    with pytest.raises(UnsupportedByEngine, match="no such engine; there are auto, reference, fast"):
        stamping.stamped(scenario, rule, "quick")


def changed(**more: Any) -> Any:
    raw = msgspec.json.decode(stamping.scenario(stamping.point(0.901, 1000), 0.1, 1).to_json())
    return from_mapping({key: value | more.get(key, {}) if key in more else value for key, value in raw.items()})


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"stack": {"ordering": "causal"}}, "ordering 'causal'"),
        ({"stack": {"copies": 3}}, "stack.copies = 3"),
        ({"stack": {"retry": 500}}, "stack.retry = 500"),
        ({"stack": {"across": 1}}, "stack.across = 1"),
        ({"subscriptions": {"announce": True}}, "who joins or leaves"),
        ({"subscriptions": {"clients": 4}}, "a client that hosts a desk or is a server"),
    ],
)
def test_what_has_no_twin_is_refused_by_name(more: dict[str, Any], why: str) -> None:
    with pytest.raises(UnsupportedByEngine, match=f"{why}.* has no compiled twin; use engine='reference'"):
        covers(changed(**more), SHARED)
    with pytest.raises(UnsupportedByEngine, match="rule 'wide' has no compiled twin"):
        covers(changed(), "wide")


def test_the_calendar_gets_more_room_as_it_needs_it() -> None:
    """Impatient clients at slow servers: nearly all that is asked for waits there."""
    hurried = {"workload": {"interval": 400, "until": 100_000, "patient": False}, "nodes": {"count": 60}}
    crowd = changed(**hurried, subscriptions={"topics": 40, "each": 40, "exponent": 0.0})
    run = Sequencing(crowd, SHARED)
    before = len(run.block)
    run.run()
    assert len(run.block) > before
    assert compare(crowd, SHARED)[0] == ""


def test_rows_get_more_room_as_they_need_it() -> None:
    near = {"short": 100, "long": 200, "short_spread": 0, "long_spread": 0, "service": 0}
    long = changed(workload={"interval": 500}, nodes={"count": 105}, network=near)
    run = Sequencing(long, ALONE, kept=True)
    before = len(run.rows)
    run.run()
    assert len(run.rows) > before
    assert compare(long, ALONE)[0] == ""


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 32, (1 << 53) - 1])
def test_sizes_are_those_of_msgpack(number: int) -> None:
    assert size_of(number) == len(msgspec.msgpack.encode(number))
    many = min(number, 70_000)
    assert size_of_all(many) == len(msgspec.msgpack.encode((0,) * many)) - many


def test_names_and_bounds_are_those_of_the_machines() -> None:
    packets = (desk_packets.Ask, desk_packets.Stamped, desk_packets.Climb, desk_packets.Climbed)
    assert kernel.PACKETS[1:] == [packet.kind for packet in packets]
    assert line.ASKS_MAX == kernel.ASKS_MAX
    assert total.Line is line.Line


# Headers


def headers_of(seed: int, engine: str) -> list[dict[str, Any]]:
    """A random setting; the sizes of the module are set for it."""
    dice = Dice(seed, draw.TWINS)
    headers.TOPICS, headers.CLIENTS = dice.one_of([10, 14, 60, 300]), dice.between(3, 80)
    counts = dice.one_of([(1,), (40, 41), (255, 256, 257), (100, 600)])
    links = min(headers.CLIENTS, dice.between(1, 6))
    kind, shape = dice.one_of([headers.CLIENT, headers.CLIENT, headers.TRUNK]), dice.one_of([0.0, 0.349, 0.901])
    rows = headers.rows_of(shape, kind, counts, links, engine)
    assert [row.pop("engine") for row in rows] == [engine] * len(counts)
    return rows


@pytest.fixture
def sizes(monkeypatch) -> None:
    for name in ("TOPICS", "CLIENTS", "BEFORE"):
        monkeypatch.setattr(headers, name, getattr(headers, name))


@pytest.mark.parametrize("before", [0, 1_000_000])
def test_random_links_carry_the_same_bytes_on_both_engines(before: int, sizes, monkeypatch) -> None:
    monkeypatch.setattr(headers, "BEFORE", before)
    carried = 0
    for seed in range(50):
        rows = headers_of(seed, "fast")
        assert rows == headers_of(seed, "reference"), f"seed {seed}"
        carried += rows[-1]["carried"]
    assert carried > 10_000


LINKS = """
from functools import partial
from trellis.experiments.tno import headers
from trellis.sim.fast.total import headers as kernel
headers.Shortener, headers.Restorer = (partial(end, 60) for end in (headers.Shortener, headers.Restorer))
kernel.KEPT_MAX = {bound}
headers.TOPICS, headers.CLIENTS = 30, 40
both = [headers.rows_of(0.349, headers.CLIENT, (200,), 4, engine)[0]["bytes"] for engine in ("fast", "reference")]
print(both[0] == both[1])
"""


def test_what_a_link_forgets_when_it_is_too_much_it_forgets_there_too_and_else_that_is_noticed() -> None:
    assert in_plain_python(LINKS.format(bound=60)) == "True\n"
    assert in_plain_python(LINKS.format(bound=61)) == "False\n"

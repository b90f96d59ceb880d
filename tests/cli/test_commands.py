"""Every command does what its help says; the examples and the README's program run."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer.core
import typer.main

from trellis import __version__, cli
from trellis.protocols import LIVE_ORDERS, live_stack

ROOT = Path(__file__).parents[2]
LIVE = ("node", "pub", "sub", "status", "forget", "cluster")
COMMANDS = (
    "run",
    "audit",
    "story",
    "page",
    "protocols",
    "swarm",
    "sweep",
    "ingest",
    "compose",
    "reproduce",
    "demo",
    "keys",
    *LIVE,
)
CAUSAL = ("creation", "duplicate", "uninvited", "fifo", "causal", "lost", "stuck")


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["trellis", *words])
    with pytest.raises(SystemExit) as exit:
        cli.main()
    return int(exit.value.code or 0), capsys.readouterr().out


@pytest.fixture
def small(tmp_path: Path) -> Path:
    text = (ROOT / "examples" / "all-publish.toml").read_text().replace("count = 256", "count = 16")
    path = tmp_path / "small.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_examples_that_can_be_copied_and_are_taken(command: str, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out = call(monkeypatch, capsys, command, "--help")
    assert code == 0
    examples = [line.strip() for line in out.partition("Example:")[2].splitlines() if line.strip()]
    assert any(f"trellis {command} " in f"{line} " for line in examples)
    for line in examples:
        understood(line)


@pytest.mark.parametrize("command", ["pub", "sub"])
def test_help_names_the_orders_that_a_live_node_has(command: str, monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    told = " ".join(call(monkeypatch, capsys, command, "--help")[1].replace("│", " ").split())
    for order in LIVE_ORDERS:
        assert any(f"{order}{end}" in told for end in (",", ";", ".", " or")), order


def understood(line: str) -> None:
    """The words of an example are those of a command: parsed as far as that goes without doing anything."""
    words = shlex.split(line.rpartition(" | ")[2].partition(" < ")[0])
    assert words[0] == "trellis", line
    command = typer.main.get_command(cli.app)
    context = command.make_context("trellis", words[1:])
    while isinstance(command, typer.core.TyperGroup):
        name, found, words = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, line
        command, context = found, found.make_context(name, list(words), parent=context)


def test_the_first_help_names_every_command_in_its_group_and_ends_with_examples(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out = call(monkeypatch, capsys, "--help")
    assert code == 0
    for word in ("run it, rehearse it, prove", "Run it:", "Rehearse it:", "Prove it:", *COMMANDS):
        assert word in out
    for line in out.partition("Example:")[2].splitlines():
        if line.strip():
            understood(line)


@pytest.mark.parametrize("way", [["-m", "trellis"], ["-c", "from trellis.__main__ import main; main()"]])
def test_ctrl_c_while_it_is_still_being_loaded_is_one_line(way: list[str], tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    searched = os.pathsep.join((str(tmp_path), str(ROOT / "src")))
    done = subprocess.run(
        [sys.executable, *way, "protocols"],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
        env={**os.environ, "PYTHONPATH": searched},
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "trellis: interrupted\n")


def test_run_prints_one_json_object_with_the_figures(small: Path, monkeypatch, capsys) -> None:
    code, out = call(monkeypatch, capsys, "run", str(small), "--json", "--seed", "9")
    found = json.loads(out)
    assert code == 0
    assert found["seed"] == 9
    assert found["engine"] == "reference"
    assert found["sent"] == {"PUB": 240, "ACK": 240}
    assert found["deliveries"] == 256
    assert found["events"] == 480 + 16
    assert set(found["reception_latency"]) == {"mean", "std", "min", "max", "count"}
    assert found["reception_latency"]["min"] == 101
    assert found["delivery_latency"]["count"] == 240
    assert found["false_positives"] == 0
    assert found["queue"]["max"] >= 4
    assert sum(found["barrier"].values()) == 16
    assert found["violations"] == dict.fromkeys(CAUSAL, 0)
    assert re.fullmatch("[0-9a-f]{64}", found["digest"])
    assert found["seconds"] > 0


def test_a_run_without_a_trace_is_measured_and_not_judged(small: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    code, out = call(monkeypatch, capsys, "run", str(small), "--no-trace", "--json")
    found = json.loads(out)
    assert (code, found["digest"], found["deliveries"], found["violations"]) == (0, None, 256, {})
    assert set(found["not_judged"]) == set(CAUSAL)
    assert call(monkeypatch, capsys, "run", str(small), "--no-trace", "--out", str(tmp_path / "run"))[0] == 2


def test_run_audit_and_story_work_on_the_same_directory(small: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    code, out = call(monkeypatch, capsys, "run", str(small), "--out", str(tmp_path / "run"))
    assert code == 0
    code, out = call(monkeypatch, capsys, "audit", str(tmp_path / "run"), "--json")
    assert code == 0
    assert json.loads(out)["violations"]["causal"] == 0
    code, out = call(monkeypatch, capsys, "story", str(tmp_path / "run"), "3:1")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].endswith("node 3     publish")
    assert sum("deliver" in line for line in lines) == 16


def test_an_audit_of_a_broken_run_shows_witnesses_and_ends_with_1(tmp_path: Path, monkeypatch, capsys) -> None:
    words = ("swarm", "--overlay", "vcube-printed", "--schedules", "1", "--seed", "5", "--out", str(tmp_path / "run"))
    code, out = call(monkeypatch, capsys, *words)
    assert code == 1
    assert "V1" in out
    assert "replay: trellis swarm --overlay vcube-printed --ordering causal --schedules 1 --seed 5" in out
    code, out = call(monkeypatch, capsys, "audit", str(tmp_path / "run"))
    assert code == 1
    assert "BROKEN" in out
    assert "was subscribed all the time and never got" in out


def test_page_draws_any_run_and_any_message_of_it(small: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    call(monkeypatch, capsys, "run", str(small), "--out", str(tmp_path / "run"))
    for words in ((), ("5:1",)):
        code, _ = call(monkeypatch, capsys, "page", str(tmp_path / "run"), *words)
        assert code == 0
        page = Page()
        page.feed((tmp_path / "run" / "index.html").read_text())
        assert page.tags["circle"] == 16
    assert "How 5:1@t0 reached 15 nodes" in (tmp_path / "run" / "index.html").read_text()
    assert call(monkeypatch, capsys, "audit", str(tmp_path / "run"))[0] == 0, "a page beside a trace does no harm"


def test_version(monkeypatch, capsys) -> None:
    assert call(monkeypatch, capsys, "--version") == (0, f"trellis {__version__}\n")


def test_swarm_json_has_the_tally(monkeypatch, capsys) -> None:
    code, out = call(monkeypatch, capsys, "swarm", "--overlay", "vcube-printed", "--schedules", "20", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["schedules"] == 20
    assert found["lost"] == found["violations"]["lost"] > 0
    assert found["stuck"] > 0
    assert {failure["kind"] for failure in found["failures"]} >= {"V1", "V2", "V4"}
    assert all(failure["replay"].startswith("trellis swarm ") for failure in found["failures"])
    code, out = call(monkeypatch, capsys, "swarm", "--schedules", "5", "--json")
    assert code == 0
    assert json.loads(out)["failures"] == []


def test_protocols_lists_the_registry(monkeypatch, capsys) -> None:
    code, out = call(monkeypatch, capsys, "protocols", "--json")
    listed = json.loads(out)
    assert code == 0
    gossip = {"damulticast", "damulticast-printed", "gossip-broadcast", "gossip-multicast", "gossip-hierarchical"}
    trees, vines = {"vcube", "vcube-printed", "single-root", "brokers"}, {"vitis", "rendezvous", "topic-overlay"}
    assert {o["name"] for o in listed["overlays"]} == trees | gossip | vines
    assert {o["name"] for o in listed["orderings"]} == {
        *(live_stack(order)[1] for order in LIVE_ORDERS),
        "per-topic",
        "total-printed",
    }


class Page(HTMLParser):
    """Counts what is drawn and collects what would be loaded."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.loads += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_demo_writes_a_page_that_loads_nothing(demo) -> None:
    assert demo.code == 0
    assert "BROKEN" not in demo.out
    page = Page()
    page.feed((demo.directory / "index.html").read_text())
    assert page.tags["circle"] == 64
    assert page.tags["path"] == 63
    assert page.tags["rect"] > 5
    assert page.loads == []
    assert re.search(r"6\. Audit on Spark: 8 runs, [1-9][0-9,]* deliveries: all kept their promises", demo.out)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_program_runs(path: Path) -> None:
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip()


def test_the_rehearsal_in_the_readme_runs() -> None:
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    [code] = [program for program in programs if "trellis.sim" in program]
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1:] == [f"{promise} kept" for promise in CAUSAL]

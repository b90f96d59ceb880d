"""docs/api.md names every public name, and its examples are true; so are the ten lines of the README."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import trellis
from trellis.live import client, sync

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text()
PARTS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_page_has_a_part_for_every_public_name_and_for_no_other() -> None:
    assert sorted(PARTS) == sorted(trellis.__all__)
    for name in trellis.__all__:
        assert getattr(trellis, name) is not None
        assert name in dir(trellis)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        trellis.nothing  # noqa: B018


@pytest.mark.parametrize("name", PARTS)
def test_the_example_of_a_name_runs(name: str) -> None:
    [block] = blocks(PARTS[name])
    code = compile(block, f"docs/api.md {name}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def story() -> None:
        async with asyncio.timeout(20), trellis.Node(plaintext=True) as node:
            running: Any = eval(code, {"trellis": trellis, "node": node})
            if inspect.iscoroutine(running):
                await running

    asyncio.run(story())


def test_the_page_and_the_signatures_say_the_same() -> None:
    assert called("Node") == list(inspect.signature(trellis.Node).parameters)[:-1]  # all but the net of tests
    assert called("connect") == list(inspect.signature(client.connect).parameters)[:-1]
    assert list(inspect.signature(sync.Node).parameters) == called("Node")
    assert list(inspect.signature(sync.connect).parameters) == called("connect")
    for verb in ("subscribe", "publish", "publish_many"):
        kept = list(inspect.signature(getattr(trellis.Bus, verb)).parameters)
        assert list(inspect.signature(getattr(sync.Bus, verb)).parameters) == [*kept, "timeout"]


def called(name: str) -> list[str]:
    [given] = re.findall(rf"^`{name}\((.*?)\)`", PARTS[name], re.MULTILINE)
    return [parameter.partition("=")[0] for parameter in given.split(", ")]


def test_importing_trellis_loads_no_sockets() -> None:
    told = "import sys, trellis; print([m for m in ('asyncio', 'ssl', 'trellis.live') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_ten_lines_of_the_readme_run_and_print_what_they_say(tmp_path: Path) -> None:
    [program] = [block for block in blocks((ROOT / "README.md").read_text()) if "trellis.Node" in block]
    code = [line for line in program.splitlines() if line.strip() and not line.startswith("#")]
    said = [line.removeprefix("# ") for line in program.splitlines() if line.startswith("# ")]
    assert 8 <= len(code) <= 12
    path = tmp_path / "ten.py"
    path.write_text(program)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False, timeout=30)
    assert (done.stdout.splitlines(), done.stderr) == (said, "")
    assert "isinstance(event, trellis.Gap)" in program, "a reader that is too slow must not fail"
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ROOT / ".mypy_cache", path],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert checked.returncode == 0, checked.stdout

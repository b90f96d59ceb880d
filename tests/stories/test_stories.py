"""Every story file is true. `pytest tests/stories --rewrite` writes what happens now; read the difference in review."""

from __future__ import annotations

from pathlib import Path

import pytest
from theatre import perform

HERE = Path(__file__).parent
STORIES = sorted(HERE.glob("*.story"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_true(path: Path, request: pytest.FixtureRequest) -> None:
    told = path.read_text()
    happened = perform(told)
    if request.config.getoption("--rewrite"):
        path.write_text(happened)
    else:
        assert happened == told


def test_there_are_stories() -> None:
    assert len(STORIES) >= 12

"""The short form of bench/campaign.py: a few rounds of kill -9, SIGSTOP and new lives, each publication confirmed."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from trellis.audit.verdict import Verdict, verdict_on
from trellis.pipeline.audit import runs

BENCH = Path(__file__).parents[2] / "bench"


def module_of_the_campaign() -> ModuleType:
    """By its path: with bench/ on the path, bench/live.py would stand for this folder."""
    spec = importlib.util.spec_from_file_location("bench_campaign", BENCH / "campaign.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_campaign"] = module
    spec.loader.exec_module(module)
    return module


def test_a_few_rounds_of_deaths_and_pauses_lose_nothing_that_was_confirmed(tmp_path: Path) -> None:
    module = module_of_the_campaign()
    said: list[str] = []
    plan = module.Plan(seed=4, nodes=8, rate=40.0, rounds=5, minutes=1.0, pause_max=2.0, plain=True)
    campaign = asyncio.run(module.run(tmp_path, plan, said.append))
    assert campaign.trouble == []
    assert campaign.kills > 0
    assert campaign.pauses > 0
    assert campaign.acked > 300
    told = campaign.told()
    assert told.startswith(f"5 rounds, {campaign.kills} kills, {campaign.pauses} pauses, {campaign.acked:,} acknow")
    assert "; 0 lost, 0 duplicates, 0 violations (" in told
    again = "--seed 4 --nodes 8 --rate 40.0 --rounds 5 --minutes 1.0 --pause-max 2.0 --plain"
    assert said[0] == f"8 processes; to do it again: python bench/campaign.py {again}"
    assert sum(line.startswith("after ") for line in said) == 5


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "on Spark"])
def test_the_campaign_itself_notices_what_was_confirmed_and_never_came(
    plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A confirmation that nobody gave is planted: the book of the campaign does not believe the traces alone."""
    asked: list[Path] = []

    def on_spark(run: Path, *_: object) -> list[Verdict]:
        """By its plain twin, which is soon done; tests/pipeline holds the two together."""
        asked.append(run)
        return [verdict_on(run, every=False)]

    monkeypatch.setattr(runs, "verdicts_on", on_spark)
    module = module_of_the_campaign()

    async def story() -> Any:
        async with module.Stage(tmp_path, tls=False) as stage:
            campaign = module.Campaign(stage, module.Plan(nodes=2, plain=plain))
            await campaign.begin()
            for actor in stage.actors:
                await actor.do("heard", topic=module.TOPICS[0], count=20)
            await module.all_of(actor.do("hush") for actor in stage.actors)
            (life, topic), upto = next(iter(stage.acked.items()))
            stage.acked[life, topic] = upto + 1
            await campaign.end()
            return campaign

    campaign = asyncio.run(story())
    [trouble] = campaign.trouble
    assert "was confirmed, and the trace does not know it" in trouble
    assert "; 1 lost, 0 duplicates, 0 violations (" in campaign.told()
    assert campaign.verdict.pairs_checked > 0
    assert asked == ([] if plain else [tmp_path / "run"])

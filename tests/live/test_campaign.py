"""The short form of bench/campaign.py: a few rounds of kill -9, SIGSTOP and new lives, each publication confirmed."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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
    campaign = asyncio.run(module_of_the_campaign().run(tmp_path, seed=4, nodes=8, rate=40.0, rounds=5, seconds=60))
    assert campaign.trouble == []
    assert campaign.kills > 0
    assert campaign.stops > 0
    assert campaign.acked > 300


def test_the_campaign_itself_notices_what_was_confirmed_and_never_came(tmp_path: Path) -> None:
    """A confirmation that nobody gave is planted: the book of the campaign does not believe the traces alone."""
    module = module_of_the_campaign()

    async def story() -> list[str]:
        async with module.Stage(tmp_path, tls=False) as stage:
            campaign = module.Campaign(stage, 0, 2, 50.0)
            await campaign.begin()
            for actor in stage.actors:
                await actor.do("heard", topic=module.TOPICS[0], count=20)
            await module.all_of(actor.do("hush") for actor in stage.actors)
            (life, topic), upto = next(iter(stage.acked.items()))
            stage.acked[life, topic] = upto + 1
            await campaign.end()
            return campaign.trouble

    trouble = asyncio.run(story())
    assert len(trouble) == 1
    assert "was confirmed, and the trace does not know it" in trouble[0]

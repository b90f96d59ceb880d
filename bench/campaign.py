"""A campaign on live processes: they are killed, stopped and started again, at random, while all of them publish.

    python bench/campaign.py [--rounds 100] [--nodes 12] [--rate 50] [--seed 0] [--minutes 2] [--keep DIR]

Every publication is confirmed before the next portion goes out. In each round something happens to one process or two:
kill -9 and a new life with the data directory, or without it, at once or seconds later; SIGSTOP for a while. In the end
everybody must have the same, and the audits judge the traces; besides, what a process was told is confirmed must have
come to whoever was subscribed before and is there at the end, whatever the traces say about confirmations.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from stage import Actor, Failed, Stage, all_of

from trellis.audit import needed_rows
from trellis.audit.delivery import Logbook
from trellis.audit.verdict import Verdict
from trellis.trace import store
from trellis.words import MessageId

TOPICS = ["news", "talk"]
QUIET_MAX = 60.0  # seconds until everybody must have everything


class Campaign:
    """One run."""

    def __init__(self, stage: Stage, seed: int, nodes: int, rate: float) -> None:
        self.stage = stage
        self.dice = random.Random(seed)
        self.nodes = nodes
        self.rate = rate
        self.kills = self.stops = self.rounds = 0
        self.trouble: list[str] = []

    async def begin(self) -> None:
        for actor in await self.stage.start(self.nodes):
            await self.engage(actor)

    async def engage(self, actor: Actor) -> None:
        for topic in TOPICS:
            await actor.do("subscribe", topic=topic)
        await actor.do("talk", topics=TOPICS, rate=self.rate)

    async def round(self) -> None:
        self.rounds += 1
        chosen = self.dice.sample(self.stage.actors, self.dice.choice([1, 1, 2]))
        await all_of([self.befall(actor, self.dice.random(), self.dice.random()) for actor in chosen])

    async def befall(self, actor: Actor, what: float, how_long: float) -> None:
        if what < 0.5:
            self.kills += 1
            await actor.kill()
            await asyncio.sleep(2.5 * how_long if how_long > 0.5 else 0)
            standing = [other for other in self.stage.actors if other.alive and not other.frozen and other is not actor]
            await actor.start(join=standing[0], data=what < 0.4)
            await self.engage(actor)
        else:
            self.stops += 1
            actor.freeze()
            await asyncio.sleep(0.2 + 4 * how_long)
            actor.thaw()

    async def end(self) -> Verdict:
        await all_of(actor.do("hush") for actor in self.stage.actors)
        limit = time.monotonic() + QUIET_MAX
        while (differ := differences(await all_of(actor.do("has") for actor in self.stage.actors))) != []:
            if time.monotonic() > limit:
                self.trouble += [f"{len(differ)} differences after {QUIET_MAX:g} s, the first: {differ[0]}"]
                break
            await asyncio.sleep(0.2)
        found = await self.stage.verdict()
        self.trouble += self.stage.troubles
        for name, witnesses in found.broken.items():
            self.trouble += [f"{name}: {witness.says}" for witness in witnesses[:5]]
        self.trouble += self.unkept(found)
        return found

    def unkept(self, verdict: Verdict) -> list[str]:
        """What was confirmed to a publisher and did not come to a subscriber that is there at the end."""
        book = Logbook(needed_rows(store.read(verdict.directory)[0]))
        lost = []
        for (origin, topic), upto in self.stage.acked.items():
            for seq in range(1, upto + 1):
                id = MessageId(origin, topic, seq)
                published = book.published.get(id)
                if published is None:
                    lost.append(f"{id} was confirmed, and the trace does not know it")
                    continue
                for (node, about), subscription in book.standing():
                    since = subscription.confirmed
                    owed = about == topic and since is not None and since.position < published.position
                    if owed and not book.accounts_for(subscription, id):
                        lost.append(f"{id} was confirmed, and node {node} never got it")
        return lost

    @property
    def acked(self) -> int:
        return sum(self.stage.acked.values())


def differences(told: list[dict[str, Any]]) -> list[str]:
    """Where two processes have not the same, or hold something back."""
    found = []
    for topic in TOPICS:
        first = told[0][topic]
        for n, other in enumerate(told):
            if other[topic]["upto"] != first["upto"]:
                apart = dict(first["upto"].items() ^ other[topic]["upto"].items())
                found.append(f"{topic}: process {n} differs from the first in {sorted(apart)[:5]}")
            if other[topic]["ahead"] or other[topic]["held"]:
                found.append(
                    f"{topic}: process {n} waits with {other[topic]['ahead']} ahead, {other[topic]['held']} held"
                )
    return found


async def run(directory: Path, seed: int, nodes: int, rate: float, rounds: int, seconds: float) -> Campaign:
    """So many rounds, or so many seconds, whichever ends first."""
    async with Stage(directory, tls=True) as stage:
        campaign = Campaign(stage, seed, nodes, rate)
        await campaign.begin()
        until = time.monotonic() + seconds
        try:
            while campaign.rounds < rounds and time.monotonic() < until:
                await campaign.round()
            verdict = await campaign.end()
        except (Failed, TimeoutError) as error:
            campaign.trouble.append(f"round {campaign.rounds}: {type(error).__name__} {error}")
            campaign.trouble += stage.troubles
        else:
            print(
                f"seed {seed}: {nodes} processes, {campaign.rounds} rounds, {campaign.kills} kill -9, "
                f"{campaign.stops} SIGSTOP; {campaign.acked:,} confirmed publications, {verdict.deliveries:,} "
                f"deliveries, {verdict.pairs_checked:,} pairs checked, {verdict.gaps:,} gaps; "
                f"{sum(verdict.violations.values())} violations"
            )
        return campaign


def main() -> int:
    parser = argparse.ArgumentParser(description="kill, stop and restart live processes, then audit")
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--nodes", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rate", type=float, default=50.0, help="messages a second of each process")
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--keep", type=Path, help="where the traces and logs stay; else they are removed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trellis-campaign-") as scratch:
        place = options.keep or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        campaign = asyncio.run(
            run(place, options.seed, options.nodes, options.rate, options.rounds, 60 * options.minutes)
        )
    for line in campaign.trouble[:20]:
        print(line)
    return 1 if campaign.trouble else 0


if __name__ == "__main__":
    sys.exit(main())

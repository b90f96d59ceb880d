"""A campaign on live processes: they are killed, stopped and started again, at random, while all of them publish.

    python bench/campaign.py [--minutes 2] [--rounds N] [--nodes 12] [--rate 50] [--pause-max 10] [--seed 0]
                             [--plain] [--keep DIR]

Every publication is confirmed before the next portion goes out. In each round something happens to one process or two:
kill -9 and a new life with the data directory, or without it, at once or seconds later; SIGSTOP for 1 to `--pause-max`
seconds (10; at most 60). In the end everybody must have the same, and the audits judge the collected traces on Spark,
as `trellis audit DIR --spark` does (`--plain`: in this process, for short campaigns). Besides, what a process was told
is confirmed must have come to whoever was subscribed before and is there at the end, whatever the traces say about
confirmations: that book is kept in memory.

The seed decides what befalls whom in which round, and for how long; the processes run as fast as they run.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from stage import Actor, Failed, Stage, all_of

from trellis.audit import needed_rows
from trellis.audit.delivery import Logbook
from trellis.audit.verdict import Verdict, verdict_on
from trellis.trace import store
from trellis.words import MessageId

TOPICS = ["news", "talk"]
QUIET_MAX = 60.0  # seconds until everybody must have everything
PAUSE_LEAST, PAUSE_MOST = 1.0, 60.0  # seconds of SIGSTOP
SHOWN_MAX = 5  # witnesses of each kind

Say = Callable[[str], None]


class Plan(NamedTuple):
    """What a campaign is asked to do."""

    seed: int = 0
    nodes: int = 12
    rate: float = 50.0  # messages a second of each process
    rounds: int = 1_000_000
    minutes: float = 2.0
    pause_max: float = 10.0  # seconds
    plain: bool = False  # the audit in this process, not on Spark

    def command(self) -> str:
        """The line that does it again."""
        given = [f"--{name.replace('_', '-')} {value}" for name, value in self._asdict().items() if name != "plain"]
        return " ".join(["python bench/campaign.py", *given, *(["--plain"] if self.plain else [])])


class Campaign:
    """One run."""

    def __init__(self, stage: Stage, plan: Plan, say: Say = print) -> None:
        self.stage = stage
        self.plan = plan
        self.say = say
        self.dice = random.Random(plan.seed)
        self.kills = self.pauses = self.rounds = 0
        self.unkept: list[str] = []  # what was confirmed and did not come
        self.verdict: Verdict | None = None
        self.trouble: list[str] = []

    async def begin(self) -> None:
        for actor in await self.stage.start(self.plan.nodes):
            await self.engage(actor)

    async def engage(self, actor: Actor) -> None:
        for topic in TOPICS:
            await actor.do("subscribe", topic=topic)
        await actor.do("talk", topics=TOPICS, rate=self.plan.rate)

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
            self.pauses += 1
            actor.freeze()
            await asyncio.sleep(PAUSE_LEAST + (self.plan.pause_max - PAUSE_LEAST) * how_long)
            actor.thaw()

    async def end(self) -> None:
        self.say("hush: until everybody has everything")
        await all_of(actor.do("hush") for actor in self.stage.actors)
        limit = time.monotonic() + QUIET_MAX
        while (differ := differences(await all_of(actor.do("has") for actor in self.stage.actors))) != []:
            if time.monotonic() > limit:
                self.trouble += [f"{len(differ)} differences after {QUIET_MAX:g} s, the first: {differ[0]}"]
                break
            await asyncio.sleep(0.2)
        run = await self.stage.collected()
        self.trouble += self.stage.troubles
        self.verdict = self.judged(run)
        for name, witnesses in self.verdict.broken.items():
            self.trouble += [f"{name}: {witness.says}" for witness in witnesses[:SHOWN_MAX]]
        self.unkept = self.not_kept(run)
        self.trouble += self.unkept

    def judged(self, run: Path) -> Verdict:
        if self.plan.plain:
            self.say("auditing, in this process")
            return verdict_on(run, every=False)
        from trellis.pipeline.audit.runs import verdicts_on

        (verdict,) = verdicts_on(run, False, SHOWN_MAX, None, self.say)
        return verdict

    def not_kept(self, run: Path) -> list[str]:
        """What was confirmed to a publisher and did not come to a subscriber that is there at the end."""
        book = Logbook(needed_rows(store.read(run)[0]))
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

    def so_far(self) -> str:
        befell = f"{self.rounds:,} rounds, {self.kills:,} kills, {self.pauses:,} pauses"
        return f"{befell}, {self.acked:,} acknowledged publishes"

    def told(self) -> str:
        """All that counts, in one line."""
        if self.verdict is None:
            return f"{self.so_far()}; it broke off, and nothing was judged"
        found = self.verdict.violations
        return (
            f"{self.so_far()}; {len(self.unkept) + found['lost']:,} lost, {found['duplicate']:,} duplicates, "
            f"{sum(found.values()):,} violations ({self.verdict.deliveries:,} deliveries, "
            f"{self.verdict.pairs_checked:,} pairs checked, {self.verdict.gaps:,} gaps)"
        )

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


async def run(directory: Path, plan: Plan, say: Say = print) -> Campaign:
    """So many rounds, or so many minutes, whichever ends first; then the verdict."""
    async with Stage(directory, tls=True) as stage:
        campaign = Campaign(stage, plan, say)
        say(f"{plan.nodes} processes; to do it again: {plan.command()}")
        await campaign.begin()
        began = time.monotonic()
        try:
            while campaign.rounds < plan.rounds and time.monotonic() - began < 60 * plan.minutes:
                await campaign.round()
                say(f"after {time.monotonic() - began:.0f} s: {campaign.so_far()}")
            await campaign.end()
        except (Failed, TimeoutError) as error:
            campaign.trouble.append(f"round {campaign.rounds}: {type(error).__name__} {error}")
            campaign.trouble += stage.troubles
        return campaign


def read_options() -> tuple[Plan, Path | None]:
    usual = Plan()
    parser = argparse.ArgumentParser(description="kill, stop and restart live processes, then audit")
    parser.add_argument("--rounds", type=int, default=usual.rounds)
    parser.add_argument("--nodes", type=int, default=usual.nodes)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--rate", type=float, default=usual.rate, help="messages a second of each process")
    parser.add_argument("--minutes", type=float, default=usual.minutes)
    parser.add_argument("--pause-max", type=float, default=usual.pause_max, help="seconds of the longest SIGSTOP")
    parser.add_argument("--plain", action="store_true", help="audit in this process, not on Spark")
    parser.add_argument("--keep", type=Path, help="where the traces and logs stay; else they are removed")
    options = vars(parser.parse_args())
    keep: Path | None = options.pop("keep")
    plan = Plan(**options)
    if not PAUSE_LEAST <= plan.pause_max <= PAUSE_MOST:
        parser.error(f"--pause-max {plan.pause_max:g}: from {PAUSE_LEAST:g} to {PAUSE_MOST:g} seconds")
    if plan.nodes < 3:
        parser.error(f"--nodes {plan.nodes}: at least 3, for two may fall at a time")
    if plan.rate <= 0:
        parser.error(f"--rate {plan.rate:g}: it must be above 0")
    return plan, keep


def main() -> int:
    plan, keep = read_options()
    with tempfile.TemporaryDirectory(prefix="trellis-campaign-") as scratch:
        place = keep or Path(scratch)
        place.mkdir(parents=True, exist_ok=True)
        campaign = asyncio.run(run(place, plan, lambda line: print(line, flush=True)))
    for line in campaign.trouble[:20]:
        print(line)
    print(campaign.told())
    if campaign.trouble:
        print(f"again with: {plan.command()}")
    return 1 if campaign.trouble else 0


if __name__ == "__main__":
    sys.exit(main())

"""Timestamps per second of the multistage sequencer, beside one central sequencer and the paper's five servers.

    python bench/total.py [--seconds 3] [--json] [--check]

1,000 topics at five desks, 1,000 clients with ten topics each, requests by the same popularity law (shape 0.901 and
0.349, as in the paper's section 5), no network: what is measured is the work of the desks themselves. Three rows for
each law: all desks in one process; the same with one central desk; each desk in a process of its own, linked by pipes,
with the codec of the live runtime. A request is for one message, and for 64, which is what a publisher under load asks
for at once (`Line.busy`). The paper reports a peak above 4,000 timestamps a second on five servers (Fig. 10).

`--check`: at least 50,000 timestamps a second in one process, for publishers under load; exit code 1 if not.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import random
import sys
import time
from collections import Counter, deque
from dataclasses import asdict, dataclass
from itertools import count
from multiprocessing.connection import Connection, wait
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from trellis.protocols.parts.desk import Desk
from trellis.protocols.parts.desk_packets import Ask, Climb, Climbed, Ours, Stamped
from trellis.protocols.parts.groups import SHARED, Desks
from trellis.words import MessageId, Topic

TOPICS, CLIENTS, EACH, SITES = 1000, 1000, 10, 5
SHAPES = (0.901, 0.349)
BATCHES = (1, 64)
PAPER = 4_000  # timestamps a second
BAR = 50_000
OPEN_MAX = 256  # climbs under way, of each desk


class World:
    """Topics, who subscribes to what, and what is asked for."""

    def __init__(self, shape: float, desks: int, batch: int) -> None:
        self.topics = [f"t{n:04}" for n in range(TOPICS)]
        self.weights = [(n + 1) ** -(1.0 + shape) for n in range(TOPICS)]
        self.desks = Desks(desks, {topic: n * desks // TOPICS for n, topic in enumerate(self.topics)})
        self.batch = batch
        luck = random.Random(1)
        self.subscriptions = [self.ten(luck) for _ in range(CLIENTS)]

    def ten(self, luck: random.Random) -> frozenset[Topic]:
        chosen: set[Topic] = set()
        while len(chosen) < EACH:
            chosen.update(luck.choices(self.topics, self.weights))
        return frozenset(chosen)

    def desk(self, index: int, post: Any) -> Desk:
        desk = Desk(index, self.desks, SHARED, post)
        for client, topics in enumerate(self.subscriptions):
            desk.registry.change((client, 0), topics)
        return desk

    def requests(self, seed: int, home: int | None = None) -> list[Ask]:
        """Many of them, to be asked in turn; with a home only those of its topics."""
        luck = random.Random(seed)
        asked: Counter[tuple[int, Topic]] = Counter()
        asks = []
        for n, topic in enumerate(luck.choices(self.topics, self.weights, k=200_000)):
            if home is None or self.desks.of(topic) == home:
                client = n % CLIENTS
                first = asked[client, topic] + 1
                asked[client, topic] += self.batch
                asks.append(Ask(MessageId((client, 0), topic, first), first, asked[client, topic]))
        return asks


class Inside:
    """The post where all desks are in one process."""

    def __init__(self, world: World, desks: int) -> None:
        self.letters: deque[tuple[int, Ours]] = deque()
        self.stamped = 0
        self.desks = [world.desk(n, self) for n in range(desks)]

    def to_desk(self, desk: int, packet: Any) -> None:
        self.letters.append((desk, packet))

    def to_node(self, node: int, packet: Any) -> None:
        self.stamped += packet.count

    def go(self) -> None:
        while self.letters:
            desk, packet = self.letters.popleft()
            self.desks[desk].take(packet)  # type: ignore[arg-type]


def in_one_process(shape: float, desks: int, batch: int, seconds: float) -> float:
    world = World(shape, desks, batch)
    inside, asks = Inside(world, desks), world.requests(2)
    began = time.perf_counter()
    for ask in asks:
        inside.desks[world.desks.of(ask.id.topic)].take(ask)
        inside.go()
        if time.perf_counter() - began > seconds:
            break
    return inside.stamped / (time.perf_counter() - began)


class Between:
    """The post of a desk in a process of its own: what is for another one is gathered, and sent as one."""

    def __init__(self, index: int, links: dict[int, Connection]) -> None:
        self.index, self.links = index, links
        self.out: dict[int, list[Ours]] = {}
        self.mine: deque[Ours] = deque()
        self.stamped = 0

    def to_desk(self, desk: int, packet: Any) -> None:
        if desk == self.index:
            self.mine.append(packet)
        else:
            self.out.setdefault(desk, []).append(packet)

    def to_node(self, node: int, packet: Stamped) -> None:
        self.stamped += packet.count

    def flush(self) -> None:
        for desk, packets in self.out.items():
            self.links[desk].send_bytes(msgspec.msgpack.encode(packets))
        self.out = {}


def one_desk(index: int, shape: float, batch: int, seconds: float, links: dict[int, Connection], report: Any) -> None:
    world = World(shape, SITES, batch)
    post = Between(index, links)
    desk = world.desk(index, post)
    asks = iter(world.requests(2 + index, index))
    decoder = msgspec.msgpack.Decoder(list[Climb | Climbed])
    report.send("ready")
    report.recv()
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        for link in wait(list(links.values()), 0 if len(desk.state.open) < OPEN_MAX else 0.01):
            for packet in decoder.decode(link.recv_bytes()):  # type: ignore[union-attr]
                desk.take(packet)
        while post.mine:
            desk.take(post.mine.popleft())  # type: ignore[arg-type]
        for _ in range(min(32, OPEN_MAX - len(desk.state.open))):
            ask = next(asks, None)
            if ask is None:
                break
            desk.take(ask)
        post.flush()
    report.send(post.stamped)
    report.recv()  # the others may still write to me


def in_five_processes(shape: float, batch: int, seconds: float) -> float:
    context = multiprocessing.get_context("fork")
    pipes = {(a, b): context.Pipe() for a in range(SITES) for b in range(a)}
    reports, processes = [], []
    for index in range(SITES):
        links = {b: pipes[index, b][0] for b in range(index)} | {a: pipes[a, index][1] for a in range(index + 1, SITES)}
        here, there = context.Pipe()
        reports.append(here)
        processes.append(context.Process(target=one_desk, args=(index, shape, batch, seconds, links, there)))
        processes[-1].start()
    for report in reports:
        report.recv()
    began = time.perf_counter()
    for report in reports:
        report.send("go")
    stamped = sum(report.recv() for report in reports)
    took = time.perf_counter() - began
    for report, process in zip(reports, processes, strict=True):
        report.send("end")
        process.join(5)
        process.kill()
    return float(stamped / took)


@dataclass(frozen=True, slots=True)
class Row:
    shape: float
    batch: int
    one_process: float
    central: float
    five_processes: float


def main() -> int:
    parser = argparse.ArgumentParser(description="the multistage sequencer, side by side")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help=f"exit code 1 below {BAR:,} a second in one process")
    options = parser.parse_args()
    out, turn = Console(stderr=True), count(1)
    rows = []
    for shape in SHAPES:
        for batch in BATCHES:
            out.print(f"{next(turn)} of {len(SHAPES) * len(BATCHES)}: shape {shape}, {batch} at a time", style="dim")
            seconds = options.seconds
            rows.append(
                Row(
                    shape,
                    batch,
                    in_one_process(shape, SITES, batch, seconds),
                    in_one_process(shape, 1, batch, seconds),
                    in_five_processes(shape, batch, seconds),
                )
            )
    least = min(row.one_process for row in rows if row.batch == max(BATCHES))
    machine = f"{os.cpu_count()} cores, Linux {platform.release()}, Python {platform.python_version()}"
    if options.json:
        print(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows], "bar": BAR, "least": least}))
    else:
        show(rows, machine)
        verdict = "held" if least >= BAR else "NOT held"
        print(f"one process, publishers under load: {least:,.0f}/s, {BAR:,} wanted: {verdict}")
    return 1 if options.check and least < BAR else 0


def show(rows: list[Row], machine: str) -> None:
    table = Table(title="timestamps per second", caption=f"{machine}; the paper's five servers: above {PAPER:,}")
    for head in ("shape", "messages a request", "five desks, one process", "of the paper's", "one central desk"):
        table.add_column(head, justify="right")
    table.add_column("five processes", justify="right")
    for row in rows:
        cells = (row.one_process, row.one_process / PAPER, row.central, row.five_processes)
        told = [f"{cell:,.1f}" if n == 1 else f"{cell:,.0f}" for n, cell in enumerate(cells)]
        table.add_row(f"{row.shape}", f"{row.batch}", *told)
    Console(width=None if sys.stdout.isatty() else 130).print(table)


if __name__ == "__main__":
    sys.exit(main())

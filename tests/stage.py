"""A stage for real processes: starts actors (live/actor.py), tells them what to do, kills, stops and continues them.

Promises: when `async with` is left, no process that it started lives on, however it is left. Each actor has a directory
          `node-XX` with `data`, `trace` and `log`, so that `verdict` is what `trellis audit` would say of them.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
from collections.abc import Awaitable, Iterable
from pathlib import Path
from typing import Any, Self

from trellis.audit.verdict import Verdict, verdict_on
from trellis.live import keys
from trellis.live.collect import collect_cluster

PROGRAM = Path(__file__).parent / "live" / "actor.py"
PATIENCE = 60.0  # seconds for an answer


class Failed(Exception):
    """An actor could not do what it was told, or died."""


class Actor:
    """One process, in one life after the other."""

    def __init__(self, stage: Stage, number: int) -> None:
        self.stage = stage
        self.name = f"node-{number:02}"
        self.directory = stage.directory / self.name
        self.process: asyncio.subprocess.Process | None = None
        self.answers: dict[int, asyncio.Future[Any]] = {}
        self.refs = 0
        self.place = self.incarnation = -1
        self.address = ""
        self.reading: asyncio.Task[None] | None = None
        self.frozen = False

    # Life and death

    async def start(self, join: Actor | None = None, data: bool = True, **given: Any) -> Self:
        """A new life. Without `data` nothing of an earlier one is known to it, but its trace stays."""
        if not data:
            shutil.rmtree(self.directory / "data", ignore_errors=True)
        self.directory.mkdir(exist_ok=True)
        about = {"data": str(self.directory / "data"), "trace": str(self.directory / "trace"), **self.stage.given}
        about |= {"join": join.address} if join is not None else {}
        if "keys" in about:
            about["name"] = self.name
        with (self.directory / "log").open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(PROGRAM),
                json.dumps(about | given),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                limit=1 << 24,
            )
        ready = self.answers[0] = asyncio.get_running_loop().create_future()
        self.reading = asyncio.create_task(self.read(self.process))
        told = await asyncio.wait_for(ready, PATIENCE)
        self.place, self.incarnation, self.address = told["place"], told["incarnation"], told["address"]
        return self

    async def read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            self.hear(json.loads(line))
        for answer in self.answers.values():
            if not answer.done():
                answer.set_exception(Failed(f"{self.name} has died; its log is {self.directory / 'log'}"))
                answer.exception()  # it may be that nobody asks any more

    def hear(self, told: dict[str, Any]) -> None:
        match told:
            case {"ref": ref, "ok": ok}:
                self.answer(ref).set_result(ok)
            case {"ref": ref, "error": error}:
                self.answer(ref).set_exception(Failed(f"{self.name}: {error}"))
            case {"is": "ready"}:
                self.answer(0).set_result(told)
            case {"is": "failed"}:
                self.answer(0).set_exception(Failed(f"{self.name}: {told['what']}"))
            case {"is": "acked"}:
                key = (told["place"], told["incarnation"]), told["topic"]
                self.stage.acked[key] = told["upto"]
            case _:
                self.stage.troubles.append(f"{self.name}: {told}")

    def answer(self, ref: int) -> asyncio.Future[Any]:
        return self.answers.pop(ref)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    async def kill(self) -> None:
        """kill -9."""
        if self.process is not None and self.alive:
            self.process.kill()
        await self.gone()

    def freeze(self) -> None:
        self.frozen = True
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.frozen = False
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def stop(self, leave: bool | None = None) -> None:
        """In good order."""
        await self.do("stop", leave=leave)
        await self.gone()

    async def gone(self) -> None:
        if self.process is not None and self.reading is not None:
            await self.process.wait()
            await self.reading

    # Commands

    async def do(self, command: str, patience: float = PATIENCE, **what: Any) -> Any:
        return await asyncio.wait_for(self.ask(command, **what), patience)

    def ask(self, command: str, **what: Any) -> asyncio.Future[Any]:
        """Say it now; the answer may be awaited later."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.refs += 1
        answer = self.answers[self.refs] = asyncio.get_running_loop().create_future()
        self.process.stdin.write(json.dumps({"ref": self.refs, "do": command, **what}).encode() + b"\n")
        return answer

    @property
    def log(self) -> list[str]:
        return (self.directory / "log").read_text().splitlines()


class Stage:
    """All actors of one test."""

    def __init__(self, directory: Path, tls: bool = False, **given: Any) -> None:
        self.directory = directory
        self.tls = tls
        self.given = given
        self.actors: list[Actor] = []
        self.troubles: list[str] = []  # what an actor's loop complained of
        self.acked: dict[tuple[tuple[int, int], str], int] = {}  # (life, topic) -> up to which number it was confirmed
        if tls:
            keys.init(directory / "keys")
            self.given["keys"] = str(directory / "keys")
        else:
            self.given["plaintext"] = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for actor in self.actors:
            if actor.process is not None and actor.alive:
                actor.process.kill()
        await all_of(actor.gone() for actor in self.actors)

    def actor(self) -> Actor:
        actor = Actor(self, len(self.actors))
        self.actors.append(actor)
        if self.tls:
            keys.issue(self.directory / "keys", actor.name)
        return actor

    async def start(self, count: int, **given: Any) -> list[Actor]:
        """A cluster: the first one founds it unless there are some already, the others join through it."""
        door = next((actor for actor in self.actors if actor.alive and not actor.frozen), None)
        begun = [] if door is not None else [await self.actor().start(**given)]
        first = door or begun[0]
        actors = [self.actor() for _ in range(count - len(begun))]
        await all_of(actor.start(join=first, **given) for actor in actors)
        return [*begun, *actors]

    async def subscribe(self, topic: str, actors: Iterable[Actor], order: str = "causal") -> None:
        await all_of(actor.do("subscribe", topic=topic, order=order) for actor in actors)

    async def stop(self) -> None:
        await all_of(actor.stop() for actor in self.actors if actor.alive)

    async def collected(self) -> Path:
        """The traces of a cluster in which nothing is left to happen, as one run. Its nodes still run: so nobody has
        left, and whoever is there is owed everything, however often it was cut off meanwhile. Then they stop.
        """
        await all_of(actor.do("flush") for actor in self.actors if actor.alive)
        run = collect_cluster(self.directory, at_rest=True)
        await self.stop()
        return run

    async def verdict(self) -> Verdict:
        """What the audits say of it."""
        return verdict_on(await self.collected(), every=False)

    async def hold_clean(self) -> Verdict:
        """No loop complained, and no promise was broken."""
        found = await self.verdict()
        assert self.troubles == []
        assert found.broken == {}, {name: [w.says for w in listed[:5]] for name, listed in found.broken.items()}
        assert found.not_judged == []
        assert found.pairs_checked > 0
        return found


async def all_of(parts: Iterable[Awaitable[Any]]) -> list[Any]:
    return list(await asyncio.gather(*parts))

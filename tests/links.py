"""What the tests of links share: an owner that remembers, and both event loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import uvloop

from trellis.live import keys
from trellis.live.codec import OutOfPlace
from trellis.live.frames import VERSION, Frame, Hello
from trellis.live.tls import Identity
from trellis.live.transport import Link

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def run(loop: str, story: Coroutine[Any, Any, Any], limit: float = 30) -> Any:
    """Tell a story to its end; a failure in a callback of the loop is a failure of the story."""
    failures: list[dict[str, Any]] = []

    async def told() -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
        async with asyncio.timeout(limit):
            return await story

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        result = runner.run(told())
    assert failures == [], failures
    return result


class Ear:
    """An owner that remembers what it heard, and can be waited for."""

    def __init__(self, accepts: bool = True) -> None:
        self.accepts = accepts
        self.heard: list[Any] = []
        self.frames: list[Frame] = []
        self.links: list[Link] = []
        self.ends: list[tuple[Link, str]] = []
        self.news = asyncio.Event()

    def opened(self, link: Link) -> None:
        self.links.append(link)
        self.tell("opened")
        if self.accepts:
            link.accept()

    def received(self, link: Link, frames: list[Frame]) -> None:
        assert link.reason is None
        self.frames += frames
        self.tell(frames)

    def closed(self, link: Link, reason: str) -> None:
        self.ends.append((link, reason))
        self.tell(reason)

    def tell(self, what: Any) -> None:
        self.heard.append(what)
        self.news.set()

    async def until(self, test: Callable[[Ear], Any]) -> Any:
        while not (found := test(self)):
            self.news.clear()
            await self.news.wait()
        return found


class Gate(Ear):
    """An owner that accepts whoever says hello, answers every frame with the same, and refuses all else."""

    def __init__(self) -> None:
        super().__init__(accepts=False)

    def received(self, link: Link, frames: list[Frame]) -> None:
        super().received(link, frames)
        for frame in frames:
            if link.decoder.accepted:
                link.send(frame)
            elif isinstance(frame, Hello):
                link.accept()
                link.send(frame)
            else:
                raise OutOfPlace(f"{type(frame).__name__} before Hello")


HELLO = Hello(VERSION, "c", 5, 0, "127.0.0.1:1", 9)


def key_directory(place: Path, *nodes: str, client: str = "") -> Path:
    keys.init(place)
    for name in nodes:
        keys.issue(place, name)
    if client:
        keys.issue(place, client, client=True)
    return place


def identities(place: Path, *nodes: str) -> list[Identity]:
    key_directory(place, *nodes)
    return [Identity(place, name) for name in nodes]

"""What the machines of a node wrote down, on its way to the disk.

Promises: it is on disk before anything leaves a link that was asked for after it, and within the same turn of the loop
          where nothing leaves. A node that cannot write it gives up: what it forgets, others count on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from trellis.effects import Keep
from trellis.errors import StateError, TrellisError
from trellis.live.state import State
from trellis.protocols.parts.desk_packets import kept_type


class Keeping:
    """Of one node."""

    def __init__(self, state: State, give_up: Callable[[TrellisError], None]) -> None:
        self.state = state
        self.give_up = give_up
        self.loop = asyncio.get_running_loop()
        self.unwritten: dict[tuple[str, str], bytes | None] = {}  # by stack and key; None: to be forgotten
        self.failed = False

    def add(self, stack: str, keep: Keep) -> None:
        if not self.unwritten:
            self.loop.call_soon(self.write_or_give_up)
        self.unwritten[stack, keep.key] = None if keep.value is None else msgspec.msgpack.encode(keep.value)

    def write(self) -> None:
        if self.unwritten:
            self.state.write_down(self.unwritten)
            self.unwritten = {}

    def write_or_give_up(self) -> None:
        if self.failed:
            return
        try:
            self.write()
        except StateError as error:
            self.failed = True
            self.give_up(error)

    def of(self, stack: str) -> dict[str, Any]:
        """What a stack wrote in the former lives of this node."""
        kept = self.state.written_down(stack)
        with self.state.explained("read"):
            return {key: msgspec.msgpack.decode(value, type=kept_type(key)) for key, value in kept.items()}

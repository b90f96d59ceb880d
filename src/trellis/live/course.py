"""What a node has to do with one topic: who reads it here, who publishes on it, what is on its way.

Promises: a node takes part in a topic as long as anybody here does: its own program, or one of its clients. Whoever has
          published counts until it unsubscribes or goes, or each of its messages might be a new joining.
"""

from __future__ import annotations

import asyncio

from trellis.live.outgoing import Outgoing
from trellis.live.subscription import Subscription
from trellis.words import Topic


class Course:
    """One topic. Whoever takes part is known by any object of its own."""

    def __init__(self, topic: Topic, order: str, stack: str) -> None:
        self.topic = topic
        self.order = order
        self.stack = stack
        self.standing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.standing.add_done_callback(lambda f: f.cancelled() or f.exception())  # perhaps nobody waits any more
        self.readers: dict[Subscription, object] = {}  # each with whose it is
        self.writers: dict[object, None] = {}
        self.outgoing = Outgoing(topic)
        self.parting: asyncio.Task[None] | None = None  # while the node sees what was published settled, and leaves

    @property
    def used(self) -> bool:
        return bool(self.readers or self.writers)

    def let_go(self, who: object, writes: bool) -> bool:
        """End what somebody has to do with it, unless it still publishes; whether there was anything."""
        mine = [reader for reader, whose in self.readers.items() if whose is who]
        for reader in mine:
            reader.drop(self.topic)
            del self.readers[reader]
        wrote = who in self.writers
        if not writes:
            self.writers.pop(who, None)
        return wrote or bool(mine)

    def fail(self, why: Exception) -> None:
        """Nothing more comes of it. Before it stands, whoever wants to read it is told by that, and may read others."""
        if not self.standing.done():
            self.standing.set_exception(why)
        elif self.standing.exception() is None:
            for reader in self.readers:
                reader.close(why)
        self.outgoing.fail(why)

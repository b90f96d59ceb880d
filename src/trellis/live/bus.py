"""What a program does with topics, wherever its node is: a `Node` of its own, or a `Client` of another process.

Promises: `subscribe` returns when the subscription stands: every later message of each of its topics comes, or is
          told as a gap; where one topic cannot be had, it raises, and none is taken part in for it. `publish` returns
          when the node has accepted the message, with `confirm=True` when every confirmed subscriber has it. What is
          published in one turn of the loop travels together. Messages of one program on one topic keep the order in
          which the calls were made.
Assumes:  one event loop: not to be called from other threads (see sync.py for scripts).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Self

import msgspec

from trellis.errors import LocalProtocolError
from trellis.live.subscription import Subscription
from trellis.protocols import MESH, check_live_order, lacks_subtopics, live_stack
from trellis.protocols.parts import hierarchy
from trellis.words import LEVELS_MAX, TOPIC_MAX, Topic

ORDER = "causal"  # unless another one is asked for

Topics = Topic | Iterable[Topic]  # one by its name, or several


class Bus(ABC):
    """Topics to publish on and to subscribe to. A program that takes a `Bus` runs with a `Node` and with a `Client`."""

    overlay: str = MESH  # how the members of the cluster are linked: it says which orders there are

    @abstractmethod
    async def start(self) -> None:
        """Be there for topics; `async with` does it."""

    @abstractmethod
    async def stop(self) -> None:
        """Go, in good order; at the end of `async with`."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @abstractmethod
    async def subscribe(self, topics: Topics, order: str = ORDER) -> Subscription:
        """Events of a topic, or of several in the order in which the node delivers them, from now on.

        A topic whose name begins with a dot includes those below it: `.news` has what is published on `.news.science`,
        and `.` has all of the tree. All subscribers of a topic share one order, and so do topics that include each
        other.
        """

    @abstractmethod
    async def unsubscribe(self, topic: Topic) -> None:
        """End all that this program has to do with a topic; what it published before still goes out.

        A subscription that has other topics, too, goes on with them.
        """

    @abstractmethod
    async def publish_many(
        self, topic: Topic, payloads: Iterable[bytes], confirm: bool = False, order: str | None = None
    ) -> None:
        """Publish payloads, in this order. The order of the topic need not be said where its subscription stands."""

    async def publish(self, topic: Topic, payload: bytes, confirm: bool = False, order: str | None = None) -> None:
        """Publish one payload. Without a subscription the program takes part in the topic without reading it."""
        await self.publish_many(topic, (payload,), confirm, order)


def chosen(topics: Topics, order: str, linked: str = MESH) -> tuple[Topic, ...]:
    """What to subscribe to, each topic once, if all of it can be had."""
    several = isinstance(topics, Iterable) and not isinstance(topics, str)
    listed: tuple[Topic, ...] = tuple(topics) if several else (topics,)  # type: ignore[assignment]
    if not listed:
        raise LocalProtocolError("no topic: a subscription needs one at least; name it")
    for topic in listed:
        check(topic, order, linked)
    return tuple(dict.fromkeys(listed))


def check(topic: Topic, order: str, linked: str = MESH) -> None:
    """A topic and an order that can be had in a cluster that is linked so."""
    check_live_order(order, linked)
    try:
        if len(msgspec.convert(topic, Topic).encode()) <= TOPIC_MAX:
            if hierarchy.in_tree(topic):
                check_in_tree(topic, order, linked)
            return
    except (msgspec.ValidationError, UnicodeEncodeError):
        pass
    raise LocalProtocolError(
        f"topic {topic!r:.80}: it must be text of 1 to {TOPIC_MAX} bytes, without control characters, "
        f"of at most {LEVELS_MAX} parts between dots; choose another"
    )


def check_in_tree(topic: Topic, order: str, linked: str) -> None:
    """A topic that includes others has a name that can be, and an order in which it does."""
    hierarchy.check(topic)
    if lacking := lacks_subtopics(*live_stack(order, linked)):
        raise LocalProtocolError(f"topic {topic!r}: {lacking}, or a topic whose name does not begin with a dot")


def check_orders(topic: Topic, order: str, orders: Mapping[Topic, str]) -> None:
    """Topics that include each other have one order: else whoever reads one of them could not have the other's."""
    for other in hierarchy.around(topic, orders):
        if orders[other] != order:
            raise other_order(topic, orders[other], order, other)


def other_order(topic: Topic, has: str, wanted: str, because_of: Topic | None = None) -> LocalProtocolError:
    if because_of is not None and because_of != topic:
        return LocalProtocolError(
            f"topic {topic!r}: {because_of!r} has {has} order, not {wanted}; topics that include each other share one"
        )
    share = "those above and below it share it" if hierarchy.in_tree(topic) else "all of its subscribers share one"
    return LocalProtocolError(f"topic {topic!r}: its order is {has}, not {wanted}; {share}")

"""What a client publishes, on its way to its node: calls, and the portions in which they travel.

Promises: payloads of one topic go in the order of the calls. Calls of one turn of the loop travel together. What the
          node has not answered is bounded: the rest waits here, and with it whoever called.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from trellis.errors import TrellisError
from trellis.live.codec import Bundle, OutOfPlace
from trellis.live.frames import ASKED_BYTES_MAX, ASKED_MAX, Publish
from trellis.live.outgoing import cut
from trellis.words import Topic

PUBLISHES_MAX = ASKED_MAX // 2  # frames without an answer; the other half is for questions


class Call:
    """One call of `publish_many`, until all of its portions are answered."""

    def __init__(self, payloads: Sequence[bytes], confirm: bool) -> None:
        self.payloads = payloads
        self.confirm = confirm
        self.portions = 0  # that were not answered
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def answered(self) -> None:
        self.portions -= 1
        if not self.portions and not self.done.done():
            self.done.set_result(None)

    def fail(self, why: TrellisError) -> None:
        if not self.done.done():
            self.done.set_exception(why)


class Portion:
    """Payloads that travel as one frame: of one call, or of many small ones."""

    def __init__(self, frame: Publish, calls: list[Call]) -> None:
        self.frame = frame
        self.calls = calls
        for call in calls:
            call.portions += 1


class Calls:
    """All that a client publishes."""

    def __init__(self, refs: Iterator[int], send: Callable[[Publish], None]) -> None:
        self.refs = refs
        self.send = send
        self.made: dict[tuple[Topic, str], list[Call]] = {}  # in this turn of the loop, by topic and wanted order
        self.waiting: deque[Portion] = deque()  # for room
        self.accepting: dict[int, Portion] = {}  # sent, and not accepted yet
        self.settling: dict[int, Portion] = {}  # accepted, and to be confirmed
        self.bytes = 0  # in those that are not accepted yet

    def add(self, topic: Topic, order: str, call: Call) -> asyncio.Future[None]:
        if not self.made:
            asyncio.get_running_loop().call_soon(self.flush)
        self.made.setdefault((topic, order), []).append(call)
        return call.done

    def flush(self) -> None:
        """What was published in this turn of the loop, in as few frames as the limits allow."""
        made, self.made = self.made, {}
        for (topic, order), calls in made.items():
            whose = [call for call in calls for _ in call.payloads]
            start = 0
            for items in cut(list(chain.from_iterable(call.payloads for call in calls))):
                mine = list(dict.fromkeys(whose[start : start + len(items)]))
                start += len(items)
                confirm = any(call.confirm for call in mine)
                frame = Publish(next(self.refs), topic, Bundle.of(items), len(items), confirm, order)
                self.waiting.append(Portion(frame, mine))
        self.pump()

    def pump(self) -> None:
        """As much as the node may have unanswered."""
        while self.waiting and len(self.accepting) < PUBLISHES_MAX and self.bytes < ASKED_BYTES_MAX:
            portion = self.waiting.popleft()
            self.accepting[portion.frame.ref] = portion
            self.bytes += len(portion.frame.payload)
            self.send(portion.frame)

    def accepted(self, ref: int) -> bool:
        """Whether it was a portion that the node has accepted."""
        portion = self.taken(ref)
        if portion is None:
            return False
        for call in portion.calls:
            if not call.confirm:
                call.answered()
        if portion.frame.confirm:
            self.settling[ref] = portion
        return True

    def settled(self, ref: int) -> None:
        portion = self.settling.pop(ref, None)
        if portion is None:
            raise OutOfPlace(f"Settled for {ref}: nothing of that is to be confirmed")
        for call in portion.calls:
            if call.confirm:
                call.answered()

    def failed(self, ref: int, why: TrellisError) -> bool:
        """Whether it was a portion that the node refused, or cannot see settled."""
        portion = self.settling.pop(ref, None) or self.taken(ref)
        for call in portion.calls if portion is not None else ():
            call.fail(why)
        return portion is not None

    def taken(self, ref: int) -> Portion | None:
        """A portion that the node has answered: there is room for another."""
        portion = self.accepting.pop(ref, None)
        if portion is not None:
            self.bytes -= len(portion.frame.payload)
            self.pump()
        return portion

    def fail(self, why: TrellisError) -> None:
        """Nothing more will be answered."""
        portions = (*self.waiting, *self.accepting.values(), *self.settling.values())
        for call in (*chain(*self.made.values()), *(call for portion in portions for call in portion.calls)):
            call.fail(why)
        self.made.clear()
        self.waiting.clear()
        self.accepting.clear()
        self.settling.clear()

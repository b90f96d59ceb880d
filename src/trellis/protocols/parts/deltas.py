"""Timestamps on a link: only what the other end cannot know.

Source:   ours; TNO ships whole timestamps. After Singhal and Kshemkalyani 1992, who send of a vector clock what has
          changed since the last message to the same receiver.
Promises: whatever timestamps go in at one end come out at the other. Both ends keep the last timestamp of each topic,
          and forget the same ones when they keep too many. `reset` begins anew. What a peer sends is taken whole or
          refused (RemoteProtocolError), and a refused one changes nothing.
Assumes:  a link on which nothing is lost or overtakes within a session; both ends reset when a session begins.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from trellis.errors import RemoteProtocolError
from trellis.words import EXACT, GROUP_MAX, Stamp, Topic

KEPT_MAX = 1 << 18  # entries that an end keeps, over all topics

Gap = Annotated[int, Meta(ge=0, lt=GROUP_MAX)]  # places passed over since the one before
Step = Annotated[int, Meta(gt=-EXACT, lt=EXACT)]
Gaps = Annotated[tuple[Gap, ...], Meta(max_length=GROUP_MAX)]
Steps = Annotated[tuple[Step, ...], Meta(max_length=2 * GROUP_MAX)]  # a gap and by how much the number there is larger


class Whole(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=0, forbid_unknown_fields=True):
    """The first one of a topic."""

    stamp: Stamp


class Since(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1, forbid_unknown_fields=True):
    """The group is as before."""

    steps: Steps


class Regrouped(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=2, forbid_unknown_fields=True):
    """Topics went from the group, others came; `steps` are about those that stayed."""

    gone: Gaps
    came: Stamp
    steps: Steps


ENCODE = msgspec.msgpack.Encoder().encode
DECODE = msgspec.msgpack.Decoder(Whole | Since | Regrouped).decode


def only(stamp: Stamp, wanted: Container[Topic]) -> Stamp:
    """What of a timestamp is of use to those who subscribe to these topics and to no others."""
    return tuple(entry for entry in stamp if entry[0] in wanted)


class Memory:
    """The last timestamp of each topic, as both ends of a link have it."""

    def __init__(self, kept_max: int = KEPT_MAX) -> None:
        self.kept_max = kept_max
        self.last: dict[Topic, Stamp] = {}  # the one that was used last comes last
        self.kept = 0

    def reset(self) -> None:
        self.last.clear()
        self.kept = 0

    def keep(self, topic: Topic, stamp: Stamp) -> None:
        self.kept += len(stamp) - len(self.last.pop(topic, ()))
        self.last[topic] = stamp
        while self.kept > self.kept_max:
            self.kept -= len(self.last.pop(next(iter(self.last))))


class Shortener(Memory):
    """The end that sends."""

    def shorten(self, topic: Topic, stamp: Stamp) -> bytes:
        """A message's timestamp, as it goes over the link."""
        before = self.last.get(topic)
        self.keep(topic, stamp)
        if before is None:
            return ENCODE(Whole(stamp))
        if len(before) == len(stamp) and all(map(same_topic, before, stamp)):
            return ENCODE(Since(tuple(steps_between(before, stamp))))
        now, known = dict(stamp), dict(before)
        gone = tuple(gaps(n for n, (name, _) in enumerate(before) if name not in now))
        came = tuple(entry for entry in stamp if entry[0] not in known)
        stayed = only(before, now)
        return ENCODE(Regrouped(gone, came, tuple(steps_between(stayed, only(stamp, known)))))


class Restorer(Memory):
    """The end that receives."""

    def restore(self, topic: Topic, sent: bytes) -> Stamp:
        """The timestamp that the other end shortened to this."""
        try:
            said = DECODE(sent)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise RemoteProtocolError(f"topic {topic!r}: a timestamp that cannot be read ({error})") from None
        stamp = said.stamp if isinstance(said, Whole) else self.changed(topic, said)
        names = [name for name, _ in stamp]
        if len(names) > GROUP_MAX or names != sorted(set(names)):
            raise RemoteProtocolError(f"topic {topic!r}: a timestamp with too many topics, or not in ascending order")
        self.keep(topic, stamp)
        return stamp

    def changed(self, topic: Topic, said: Since | Regrouped) -> Stamp:
        stamp = self.last.get(topic)
        if stamp is None:
            raise RemoteProtocolError(f"topic {topic!r}: changes of a timestamp, and there was none before")
        if isinstance(said, Since):
            return tuple(stepped(topic, stamp, said.steps))
        gone = set(places(topic, said.gone, len(stamp)))
        stayed = tuple(entry for n, entry in enumerate(stamp) if n not in gone)
        return tuple(sorted((*stepped(topic, stayed, said.steps), *said.came)))


def same_topic(one: tuple[Topic, int], two: tuple[Topic, int]) -> bool:
    return one[0] == two[0]


def steps_between(before: Stamp, stamp: Stamp) -> Iterator[int]:
    """For each number that changed: how many places come before it since the last one, and by how much it did."""
    last = -1
    for n, (one, two) in enumerate(zip(before, stamp, strict=True)):
        if one[1] != two[1]:
            yield n - last - 1
            yield two[1] - one[1]
            last = n


def gaps(ascending: Iterator[int]) -> Iterator[int]:
    last = -1
    for n in ascending:
        yield n - last - 1
        last = n


def places(topic: Topic, passed: tuple[int, ...], size: int) -> Iterator[int]:
    n = -1
    for gap in passed:
        n += gap + 1
        if not 0 <= n < size:
            raise RemoteProtocolError(f"topic {topic!r}: place {n} of a timestamp with {size} entries")
        yield n


def stepped(topic: Topic, stamp: Stamp, steps: tuple[int, ...]) -> list[tuple[Topic, int]]:
    if len(steps) % 2 or min(steps[::2], default=0) < 0:
        raise RemoteProtocolError(f"topic {topic!r}: changes of a timestamp that are no pairs of a gap and a step")
    found = list(stamp)
    for n, step in zip(places(topic, steps[::2], len(stamp)), steps[1::2], strict=True):
        name, number = found[n]
        if not 0 <= number + step < EXACT:
            raise RemoteProtocolError(f"topic {topic!r}: number {number + step} of topic {name!r} is out of range")
        found[n] = (name, number + step)
    return found

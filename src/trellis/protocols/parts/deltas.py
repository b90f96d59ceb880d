"""Timestamps on a link: only what the other end cannot know.

Source:   ours; TNO ships whole timestamps. After Singhal and Kshemkalyani 1992, who send of a vector clock what has
          changed since the last message to the same receiver.
Promises: whatever timestamps go in at one end come out at the other, in no more bytes than whole. Each has a key, which
          both ends know (of a message: its topic). Both keep which topics were in the last one of a key, and the last
          number of each topic, whatever the key; when that is too much, both forget all of it. `reset` begins anew.
          What a peer sends is taken whole or refused (RemoteProtocolError), and a refused one changes nothing.
Assumes:  a link on which nothing is lost or overtakes within a session; both ends reset when a session begins.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from trellis.errors import RemoteProtocolError
from trellis.words import EXACT, GROUP_MAX, Stamp, Topic

KEPT_MAX = 1 << 18  # entries that an end keeps

Entry = tuple[Topic, int]

Gap = Annotated[int, Meta(ge=0, lt=GROUP_MAX)]  # places passed over since the one before
Step = Annotated[int, Meta(gt=-EXACT, lt=EXACT)]
Gaps = Annotated[tuple[Gap, ...], Meta(max_length=GROUP_MAX)]
Steps = Annotated[tuple[Step, ...], Meta(max_length=2 * GROUP_MAX)]  # a gap and by how much the number there is larger


class Whole(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=0, forbid_unknown_fields=True):
    """The first one of a key."""

    stamp: Stamp


class Since(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=1, forbid_unknown_fields=True):
    """The group is as before."""

    steps: Steps


class Regrouped(msgspec.Struct, frozen=True, gc=False, array_like=True, tag=2, forbid_unknown_fields=True):
    """Topics went from the group, others came; `steps` are about those that stayed."""

    gone: Gaps
    came: Stamp
    steps: Steps


class Spent:
    """Bytes of timestamps: as they are, and as they went over links."""

    __slots__ = ("plain", "sent")

    def __init__(self) -> None:
        self.plain = self.sent = 0


WRAPPING = 2  # bytes of a whole one around it
ENCODE = msgspec.msgpack.Encoder().encode
DECODE = msgspec.msgpack.Decoder(Whole | Since | Regrouped).decode


def only(stamp: Stamp, wanted: Container[Topic]) -> Stamp:
    """What of a timestamp is of use to those who subscribe to these topics and to no others."""
    return tuple(entry for entry in stamp if entry[0] in wanted)


class Memory:
    """What went over a link, as both of its ends have it."""

    def __init__(self, kept_max: int = KEPT_MAX) -> None:
        self.kept_max = kept_max
        self.groups: dict[Hashable, tuple[Topic, ...]] = {}  # by key: the topics of its last timestamp
        self.entries: dict[Topic, Entry] = {}  # the last number of each topic, in whatever timestamp it was
        self.kept = 0  # in the groups, and one for each of them

    def reset(self) -> None:
        self.groups.clear()
        self.entries.clear()
        self.kept = 0

    def keep(self, key: Hashable, group: tuple[Topic, ...], stamp: Stamp) -> None:
        known = self.groups.get(key)
        if known is not group:
            self.kept += len(group) - (len(known) if known is not None else -1)
            self.groups[key] = group
        self.entries.update(zip(group, stamp, strict=True))
        if self.kept + len(self.entries) > self.kept_max:
            self.reset()

    def expected(self, group: tuple[Topic, ...]) -> Stamp:
        return tuple(map(self.entries.__getitem__, group))


class Shortener(Memory):
    """The end that sends."""

    def __init__(self, kept_max: int = KEPT_MAX, spent: Spent | None = None) -> None:
        super().__init__(kept_max)
        self.spent = spent if spent is not None else Spent()

    def shorten(self, key: Hashable, stamp: Stamp) -> bytes:
        """A timestamp, as it goes over the link."""
        known, group = self.groups.get(key), tuple([name for name, _ in stamp])
        whole = sent = ENCODE(Whole(stamp))
        if known == group:
            group = known
            sent = ENCODE(Since(tuple(steps_between(self.expected(known), stamp))))
        elif known is not None and is_set(known) and is_set(group):
            sent = ENCODE(regrouped(self.expected(known), stamp))
        if len(sent) > len(whole):
            sent = whole
        self.keep(key, group, stamp)
        self.spent.plain += len(whole) - WRAPPING
        self.spent.sent += len(sent)
        return sent


class Restorer(Memory):
    """The end that receives."""

    def restore(self, key: Hashable, sent: bytes, ascending: bool = True) -> Stamp:
        """The timestamp that the other end shortened to this."""
        try:
            said = DECODE(sent)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise RemoteProtocolError(f"{key!r}: a timestamp that cannot be read ({error})") from None
        group = self.groups.get(key)
        if isinstance(said, Whole):
            stamp = said.stamp
        elif group is None:
            raise RemoteProtocolError(f"{key!r}: changes of a timestamp, and there was none before")
        elif isinstance(said, Since):
            stamp = tuple(stepped(key, self.expected(group), said.steps))
        else:
            stamp = changed(key, self.expected(group), said)
        if group is None or not isinstance(said, Since):
            group = tuple([name for name, _ in stamp])
            if len(group) > GROUP_MAX or (ascending and not is_in_order(list(group))):
                raise RemoteProtocolError(f"{key!r}: a timestamp with too many topics, or not in ascending order")
        self.keep(key, group, stamp)
        return stamp


def is_in_order(group: list[Topic]) -> bool:
    return group == sorted(group)


def is_set(group: tuple[Topic, ...]) -> bool:
    """In order and without repetition: then whoever knows what is in it knows where."""
    return list(group) == sorted(set(group))


def regrouped(before: Stamp, stamp: Stamp) -> Regrouped:
    now, known = dict(stamp), dict(before)
    gone = tuple(gaps(n for n, (name, _) in enumerate(before) if name not in now))
    came = tuple(entry for entry in stamp if entry[0] not in known)
    return Regrouped(gone, came, tuple(steps_between(only(before, now), only(stamp, known))))


def changed(key: Hashable, before: Stamp, said: Regrouped) -> Stamp:
    gone = set(places(key, said.gone, len(before)))
    stayed = tuple(entry for n, entry in enumerate(before) if n not in gone)
    after = tuple(sorted((*stepped(key, stayed, said.steps), *said.came)))
    if not is_set(tuple([name for name, _ in after])):
        raise RemoteProtocolError(f"{key!r}: a topic comes to a timestamp in which it is")
    return after


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


def places(key: Hashable, passed: tuple[int, ...], size: int) -> Iterator[int]:
    n = -1
    for gap in passed:
        n += gap + 1
        if not 0 <= n < size:
            raise RemoteProtocolError(f"{key!r}: place {n} of a timestamp with {size} entries")
        yield n


def stepped(key: Hashable, stamp: Stamp, steps: tuple[int, ...]) -> list[Entry]:
    if len(steps) % 2 or min(steps[::2], default=0) < 0:
        raise RemoteProtocolError(f"{key!r}: changes of a timestamp that are no pairs of a gap and a step")
    found = list(stamp)
    for n, step in zip(places(key, steps[::2], len(stamp)), steps[1::2], strict=True):
        name, number = found[n]
        if not 0 <= number + step < EXACT:
            raise RemoteProtocolError(f"{key!r}: number {number + step} of topic {name!r} is out of range")
        found[n] = (name, number + step)
    return found

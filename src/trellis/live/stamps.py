"""Timestamps on their way: they leave a packet before it is encoded, and come back to it when it was decoded.

Promises: what travels in a packet is the same at both ends of a link, timestamps included. What is said of them depends
          on what went over this link before (`parts/deltas.py`), so it is made for each link when a frame is put in
          its queue: from there it leaves in this order, or the link ends. A frame that cannot be sent changes nothing.
          A packet without timestamps pays for one look at it. A peer cannot make us build more than would fit a frame
          if all timestamps were whole.
Assumes:  both ends of a session begin with new memories, and take every frame that carries timestamps.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import msgspec
from msgspec.structs import replace

from trellis.errors import RemoteProtocolError
from trellis.live.frames import FRAME_MAX
from trellis.protocols.overlays.vcube_packets import Fill, Pub
from trellis.protocols.parts.deltas import Restorer, Shortener, is_in_order
from trellis.protocols.parts.desk_packets import Admitted, Answer, Append, Climb, Climbed, Entry, Stamped
from trellis.words import TOPIC_MAX, UNSTAMPED, Message, Packet, Stamp

ENTRY_LEAST, ENTRY_MOST = 4, 4 * TOPIC_MAX + 13  # bytes of an entry: an array, a name with its length, a number
AROUND = 16  # bytes at most around one timestamp among others, and around all of them
ENTRIES_MAX = FRAME_MAX // ENTRY_LEAST  # in one frame

Key = Hashable  # by which both ends know what a timestamp is like: of a message, its topic
Taken = list[tuple[Key, Stamp]]
Restamp = Callable[[Key, Stamp], Stamp]

OF_DESKS = frozenset((Stamped, Admitted, Climb, Climbed, Append))

ENCODE = msgspec.msgpack.Encoder().encode
DECODE = msgspec.msgpack.Decoder(list[bytes]).decode


# At the end that sends.


def stamped(packet: Packet) -> bool:
    """Whether a packet has timestamps to shorten. Its messages are of one order, so the first one shows it; what is
    not shortened travels whole.
    """
    messages = packet.messages
    return bool(messages[0].stamp) if messages else type(packet) in OF_DESKS


def bare(packet: Packet) -> tuple[Packet, Taken]:
    """A packet without its timestamps, and those."""
    taken: Taken = []

    def take(key: Key, stamp: Stamp) -> Stamp:
        taken.append((key, stamp))
        return UNSTAMPED

    return restamped(packet, take), taken


def size_at_most(taken: Taken, room: int) -> int:
    """Bytes that they take when all are whole; a guess that is too large, where that fits."""
    guess = AROUND + sum([AROUND + ENTRY_MOST * len(stamp) for _, stamp in taken])
    return guess if guess <= room else AROUND + sum([AROUND + len(ENCODE(stamp)) for _, stamp in taken])


def shortened(taken: Taken, shortener: Shortener) -> bytes:
    """The block that stands for them on this link, and only now. One that is empty is told as nothing."""
    told = [shortener.shorten(key, stamp) if stamp else b"" for key, stamp in taken]
    block = ENCODE(told)
    shortener.spent.sent += len(block) - sum(map(len, told))  # what holds them together is spent, too
    return block


# At the end that receives.


def restored(packet: Packet, block: bytes, restorer: Restorer) -> Packet:
    """The packet with the timestamps that were taken from it."""
    try:
        told = iter(DECODE(block))
    except (msgspec.DecodeError, ValueError):
        raise RemoteProtocolError(f"{len(block)} bytes of body belong to nothing") from None
    room = ENTRIES_MAX

    def give(key: Key, stamp: Stamp) -> Stamp:
        nonlocal room
        sent = next(told, None)
        if stamp or sent is None:
            raise RemoteProtocolError(f"{key!r}: a timestamp {'twice' if stamp else 'is missing'}")
        found = restorer.restore(key, sent, ascending=type(key) is str) if sent else UNSTAMPED
        room -= len(found)
        if room < 0:
            raise RemoteProtocolError(f"timestamps with more than {ENTRIES_MAX} entries: they would not fit a frame")
        return found

    packet = restamped(packet, give)
    if next(told, None) is not None:
        raise RemoteProtocolError("a timestamp that belongs to nothing")
    return packet


def ascends(stamp: Stamp) -> bool:
    """Whether a timestamp that came as it is can go on: the next one refuses it otherwise."""
    return is_in_order([name for name, _ in stamp])


# At both.


def restamped(packet: Packet, restamp: Restamp) -> Packet:
    """The same packet with other timestamps. Both ends come to them in the same order, and by the same keys."""
    match packet:
        case Pub():
            return Pub(packet.id, packet.height, of_messages(packet.messages, restamp))
        case Fill():
            return replace(packet, messages=of_messages(packet.messages, restamp))
        case Append():
            return replace(packet, entries=tuple([of_line(packet, line, restamp) for line in packet.entries]))
        case Climb():
            return of_climb(packet, packet.kind, restamp)
        case Climbed():
            return replace(packet, answer=of_answer(packet.answer, packet.kind, restamp))
        case Stamped() | Admitted():
            return of_answer(packet, "", restamp)
        case _:
            return packet


def of_messages(messages: Iterable[Message], restamp: Restamp) -> tuple[Message, ...]:
    return tuple(
        [Message(m.id, m.payload, m.follows, m.count, m.awaited, restamp(m.id.topic, m.stamp)) for m in messages]
    )


def of_line(book: Append, line: Entry, restamp: Restamp) -> Entry:
    match line.command:
        case Climb() as climb:
            return Entry(line.epoch, of_climb(climb, book.kind, restamp))
        case Climbed() as climbed:
            return Entry(line.epoch, replace(climbed, answer=of_answer(climbed.answer, book.kind, restamp)))
        case _:
            return line


def of_climb(climb: Climb, way: str, restamp: Restamp) -> Climb:
    key = (way, climb.to, climb.about.kind, climb.id.topic)
    return replace(climb, entries=restamp(key, climb.entries))


def of_answer(answer: Answer, way: str, restamp: Restamp) -> Answer:
    key = (way, answer.kind, answer.id.topic)
    return replace(answer, entries=restamp(key, answer.entries))

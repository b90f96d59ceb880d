"""Bytes to frames and back.

A frame is two lengths (`!II`: of the header and of the body), the header (msgpack of the frame, in which a bundle is
told by its length only) and the body: the raw blocks of its bundles, one after the other. The timestamps of a packet
between members come after them as one more block, shortened for this link (stamps.py).

Promises: whatever the bytes, frames come out or a `RemoteProtocolError`. Nothing is set aside for a length that was
          announced, only for bytes that came; a block is copied once on its way in and never on its way out; payloads
          are decoded once per bundle, never one by one in Python.
Assumes:  after an error a decoder is not fed again: where the next frame begins is not known.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from trellis.errors import LocalProtocolError, RemoteProtocolError
from trellis.live import stamps
from trellis.live.frames import BUNDLE_MAX, FRAME_MAX, FRAMES, STRANGER_MAX, Carry, Event, Frame, Publish
from trellis.protocols.parts.deltas import Restorer, Shortener
from trellis.words import TOPIC_MAX, Message, Packet

PREFIX = struct.Struct("!II")
REASON_MAX = 200  # characters


class TooLarge(RemoteProtocolError):
    """A frame over the limit; it was not read."""


class Malformed(RemoteProtocolError):
    """Bytes that are no frame."""


class OutOfPlace(RemoteProtocolError):
    """A frame that makes sense, but not from this peer, or not now."""


class Bundle:
    """Payloads that travel together: `raw`, the block on the wire, and `items`, the same decoded.

    Machines never look inside; `len` is what it weighs.
    """

    __slots__ = ("cached", "raw")

    def __init__(self, raw: bytes, items: list[bytes] | None = None) -> None:
        self.raw = raw
        self.cached = items

    @classmethod
    def of(cls, items: Iterable[bytes]) -> Bundle:
        """Payloads that an application gives."""
        given = list(items)
        raw = blocks_out.encode(given)
        if not given or len(raw) > BUNDLE_MAX:
            raise LocalProtocolError(
                f"{len(given)} payloads of {len(raw)} bytes: at least one, and at most {BUNDLE_MAX} bytes go together; "
                "publish them in several calls"
            )
        return cls(raw, given)

    @classmethod
    def read(cls, raw: bytes, count: int) -> Bundle:
        """Payloads that a peer announced."""
        try:
            items = blocks_in.decode(raw)
        except (msgspec.DecodeError, ValueError) as error:
            raise Malformed(f"a bundle of {len(raw)} bytes: {brief(error)}") from None
        if len(items) != count:
            raise Malformed(f"a bundle of {len(items)} payloads: {count} were announced")
        return cls(raw, items)

    @property
    def items(self) -> list[bytes]:
        if self.cached is None:
            self.cached = blocks_in.decode(self.raw)
        return self.cached

    def take(self) -> list[bytes]:
        """The payloads, for good: what stays for others is the block alone, which costs the collector nothing."""
        items, self.cached = self.items, None
        return items

    def __len__(self) -> int:
        return len(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bundle) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __repr__(self) -> str:
        return f"Bundle({len(self.raw)} bytes)"


blocks_out = msgspec.msgpack.Encoder()
blocks_in = msgspec.msgpack.Decoder(list[bytes])
headers_in = msgspec.msgpack.Decoder(reduce(or_, FRAMES))


def encode(frame: Frame, shortener: Shortener | None = None) -> list[bytes]:
    """The chunks of a frame: its lengths and header, then the blocks as they are.

    With a shortener they are for one link, and in this turn: the next frame for it relies on this one.
    """
    blocks: list[bytes] = []
    taken: stamps.Taken | None = None
    if shortener is not None and type(frame) is Carry and stamps.stamped(frame.packet):
        packet, taken = stamps.bare(frame.packet)
        frame = Carry(frame.stack, frame.at, packet)

    def length(thing: Any) -> int:
        """What stands in the header for a bundle; they are met in the order in which their blocks follow."""
        if type(thing) is not Bundle:
            raise LocalProtocolError(f"{thing!r}: only a bundle travels as a payload; use Bundle.of")
        blocks.append(thing.raw)
        return len(thing.raw)

    header = msgspec.msgpack.encode(frame, enc_hook=length)
    body = sum(map(len, blocks))
    whole = len(header) + body
    if taken:
        whole += stamps.size_at_most(taken, FRAME_MAX - whole)
    if whole > FRAME_MAX:
        raise LocalProtocolError(
            f"{type(frame).__name__} of {len(header)} + {whole - len(header)} bytes: at most {FRAME_MAX}; "
            "send fewer things at once"
        )
    if shortener is not None and taken:
        blocks.append(stamps.shortened(taken, shortener))
        body += len(blocks[-1])
    return [PREFIX.pack(len(header), body) + header, *blocks]


class Decoder:
    """Frames out of a stream of bytes, however it was cut."""

    __slots__ = ("accepted", "needed", "pending", "restorer")

    def __init__(self) -> None:
        self.accepted = False
        self.restorer = Restorer()
        self.pending = bytearray()  # the beginning of a frame
        self.needed = PREFIX.size  # bytes before it is worth looking again

    def accept(self) -> None:
        """The peer is known: let it send what members send."""
        self.accepted = True

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete.

        Until the peer is accepted at most one at a time, because it may be the one by which it is accepted: call again
        with nothing for the next.
        """
        if self.pending:
            self.pending += data
            if len(self.pending) < self.needed:
                return []
            data = bytes(self.pending)
            self.pending.clear()
        frames: list[Frame] = []
        start, end = 0, len(data)
        limit = FRAME_MAX if self.accepted else STRANGER_MAX
        while end - start >= PREFIX.size:
            header, body = PREFIX.unpack_from(data, start)
            if header + body > limit:
                raise TooLarge(f"a frame of {header} + {body} bytes: the limit is {limit}")
            middle = start + PREFIX.size + header
            after = middle + body
            if after > end:
                self.needed = after - start
                break
            frames.append(read(data, start + PREFIX.size, middle, after, self.restorer))
            start = after
            if not self.accepted:
                self.needed = PREFIX.size
                break
        else:
            self.needed = PREFIX.size
        if start < end:
            self.pending += data[start:]
        return frames


def read(data: bytes, start: int, middle: int, end: int, restorer: Restorer) -> Frame:
    """One frame, its header before and its body after the middle."""
    try:
        frame: Frame = headers_in.decode(data[start:middle])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # invalid UTF-8 is a ValueError
        raise Malformed(f"a header of {middle - start} bytes: {brief(error)}") from None
    kind = type(frame)
    if kind is Carry:
        middle = fill(frame.packet, data, middle, end)  # type: ignore[attr-defined]
        if middle != end:
            return with_stamps(frame, data[middle:end], restorer)  # type: ignore[arg-type]
    elif kind is Publish or kind is Event:
        check_topic(frame.topic)  # type: ignore[attr-defined]
        middle = fetch(frame, data, middle, end)  # type: ignore[arg-type]
    elif hasattr(frame, "topic"):
        check_topic(frame.topic)
    if middle != end:
        raise Malformed(f"{kind.__name__}: {end - middle} bytes of body belong to nothing")
    return frame


def fill(packet: Packet, data: bytes, at: int, end: int) -> int:
    """Give the messages of a packet their payloads; where the last block ends comes back."""
    check_topic(packet.id.topic)
    for message in packet.messages:
        topic = message.id.topic
        check_topic(topic)
        for id in message.follows:
            if id.topic != topic:
                raise Malformed("a message that follows one on another topic")
        if message.stamp and not stamps.ascends(message.stamp):
            raise Malformed("a timestamp that is not in ascending order")
        at = fetch(message, data, at, end)
    return at


def with_stamps(carry: Carry, block: bytes, restorer: Restorer) -> Carry:
    try:
        return Carry(carry.stack, carry.at, stamps.restored(carry.packet, block, restorer))
    except RemoteProtocolError as error:
        raise Malformed(f"{carry.packet.kind}: {brief(error)}") from None


def fetch(holder: Message | Publish | Event, data: bytes, at: int, end: int) -> int:
    """Put a block in the place of its length."""
    after: int = at + holder.payload
    if after > end:
        raise Malformed(f"a bundle of {holder.payload} bytes: {end - at} are there")
    force_setattr(holder, "payload", Bundle.read(data[at:after], holder.count))
    return after


def check_topic(topic: str) -> None:
    """What a range in a type cannot say: it counts characters."""
    if not topic.isascii() and len(topic.encode()) > TOPIC_MAX:
        raise Malformed(f"a topic of {len(topic.encode())} bytes: the limit is {TOPIC_MAX}")


def brief(error: Exception) -> str:
    """What a decoder complains of, on one line: it quotes the peer."""
    text = str(error)[:REASON_MAX]
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)

"""Bytes of timestamps on links, compiled. Answers to `Shortener` of parts/deltas.py, as the TNO headers are measured.

Assumes:  groups that stay as they are, and numbers that grow by one.

What is kept otherwise, and why the bytes are as many: topics are numbers in the order of their names. A memory has for
each key whether it went over the link before, not the group itself, which is always the same; so a timestamp goes whole
or as its steps. Nothing is decoded and compared here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from trellis.protocols.parts.deltas import KEPT_MAX, WRAPPING
from trellis.sim.fast.jit import compiled, inlined
from trellis.sim.fast.memory import Block
from trellis.sim.fast.total.sizes import size_of, size_of_all

Bytes = npt.NDArray[np.uint8]

AT_ONCE = 256  # events
NUMBER_BYTES_MAX, NAME_BYTES_MAX = 9, 32

# A link has two memories: of whole timestamps, and of what is wanted at its other end.
KEPT, KNOWN = 0, 1  # of a memory: in its groups, one for each of them; topics of which it has a number
CARRIED, ENTRIES, PLAIN, DELTAS, WANTED = range(5)  # of a link


class Links:
    """Some links that carry the same events as far as those at their other ends want them."""

    def __init__(self, names: Sequence[str], groups: Sequence[Sequence[int]], wanted: Block) -> None:
        topics, links = len(names), len(wanted)
        self.wanted = wanted  # per link and topic
        self.starts = np.cumsum([0, *map(len, groups)])
        self.groups = np.array([topic for group in groups for topic in group], np.int64)  # ascending
        told = [name.encode() for name in names]
        self.names = np.frombuffer(b"".join(name.ljust(NAME_BYTES_MAX, b"\0") for name in told), np.uint8)
        self.lengths = np.array([len(name) for name in told], np.int64)
        self.before = np.zeros((links, 2, topics), np.int64)  # whether a key went over
        self.last = np.full((links, 2, topics), -1, np.int64)  # the last number of each topic
        self.memory = np.zeros((links, 2, 2), np.int64)
        self.tally = np.zeros((links, 5), np.int64)
        largest = max(map(len, groups)) * (NUMBER_BYTES_MAX + NAME_BYTES_MAX) + 8
        self.bytes = np.zeros(AT_ONCE * largest, np.uint8)

    def carry(self, events: Block, numbers: Block) -> list[memoryview]:
        """Events on these topics, at most AT_ONCE: each as msgpack, empty if nobody hears it. `numbers` go on."""
        ends = np.zeros(len(events), np.int64)
        carry(
            events, numbers, self.starts, self.groups, self.wanted, self.names, self.lengths, self.before, self.last,
            self.memory, self.tally, self.bytes, ends,
        )  # fmt: skip
        plain = memoryview(self.bytes)  # type: ignore[arg-type]
        return [plain[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]


@compiled
def carry(
    events: Block, numbers: Block, starts: Block, groups: Block, wanted: Block, names: Bytes, lengths: Block,
    before: Block, last: Block, memory: Block, tally: Block, plain: Bytes, ends: Block,
) -> None:  # fmt: skip
    at = 0
    for e in range(len(events)):
        topic = events[e]
        numbers[topic] += 1
        group = groups[starts[topic] : starts[topic + 1]]
        written = 0
        for link in range(wanted.shape[0]):
            if wanted[link, topic]:
                if written == 0:
                    written = write(group, numbers, names, lengths, plain, at)
                tally[link, CARRIED] += 1
                tally[link, ENTRIES] += len(group)
                tally[link, PLAIN] += written
                for which in range(2):
                    tally[link, DELTAS + which] += shorten(
                        topic, group, numbers, lengths, wanted[link], before[link, which], last[link, which],
                        memory[link, which], which,
                    )  # fmt: skip
        at += written
        ends[e] = at


@inlined
def put(plain: Bytes, at: int, size: int, number: int) -> int:
    """A number in so many bytes, the highest first; where the next one goes."""
    for k in range(size):
        plain[at + k] = (number >> (8 * (size - 1 - k))) & 255
    return at + size


@compiled
def write(group: Block, numbers: Block, names: Bytes, lengths: Block, plain: Bytes, start: int) -> int:
    """A timestamp as msgpack; how many bytes that is."""
    many = len(group)
    at = put(plain, start, 1, 0x90 | many) if many < 1 << 4 else put(plain, put(plain, start, 1, 0xDC), 2, many)
    for k in range(many):
        topic, number = group[k], numbers[group[k]]
        at = put(plain, put(plain, at, 1, 0x92), 1, 0xA0 | lengths[topic])
        for n in range(lengths[topic]):
            at = put(plain, at, 1, names[topic * NAME_BYTES_MAX + n])
        size = size_of(number)
        if size == 1:
            at = put(plain, at, 1, number)
        else:
            mark = 0xCC if size == 2 else 0xCD if size == 3 else 0xCE if size == 5 else 0xCF
            at = put(plain, put(plain, at, 1, mark), size - 1, number)
    return at - start


@compiled
def shorten(
    topic: int, group: Block, numbers: Block, lengths: Block, wanted: Block, before: Block, last: Block, memory: Block,
    only: int,
) -> int:  # fmt: skip
    """Bytes of a timestamp, or of what is wanted of it, on a link."""
    many, whole, steps, pairs, passed = 0, 0, 0, 0, 0
    for k in range(len(group)):
        other = group[k]
        if only and not wanted[other]:
            continue
        many += 1
        number = numbers[other]
        whole += 2 + lengths[other] + size_of(number)
        if last[other] == number:
            passed += 1
            continue
        steps += size_of(passed) + size_of(number - last[other])
        pairs += 1
        passed = 0
        if last[other] < 0:
            memory[KNOWN] += 1
        last[other] = number
    sent = whole = WRAPPING + size_of_all(many) + whole
    if before[topic]:
        sent = min(whole, WRAPPING + size_of_all(2 * pairs) + steps)
    else:
        before[topic] = 1
        memory[KEPT] += many + 1
    if memory[KEPT] + memory[KNOWN] > KEPT_MAX:
        memory[KEPT] = memory[KNOWN] = 0
        for k in range(len(last)):
            before[k], last[k] = 0, -1
    return sent

"""How much a packet can carry, and what is done with more than that.

Promises: whatever is told in portions of these sizes fits into a frame, with an eighth of it left for the rest.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trellis.words import VECTOR_MAX, Message, Origin, Topic, Vector, Version

TOPICS_MAX = 65_536
PORTION = 1 << 19  # bytes of vectors in one packet: half a frame

Numbers = Annotated[dict[Origin, Version], Meta(max_length=VECTOR_MAX)]  # a vector that counts messages, from 0 on
Vectors = Annotated[dict[Topic, Numbers], Meta(max_length=TOPICS_MAX)]


def weight(message: Message) -> int:
    """Bytes that a message takes on a wire, at most: its payload, an id for itself and each predecessor, and all of its
    timestamp.
    """
    id_max = 32 + 4 * len(message.id.topic)
    size = len(message.payload) + id_max * (1 + len(message.follows))
    return size + sum([16 + 4 * len(topic) for topic, _ in message.stamp]) if message.stamp else size


def size_of(thing: object) -> int:
    """Bytes on a wire."""
    return len(msgspec.msgpack.encode(thing))


def portions(vectors: dict[Topic, Vector]) -> list[dict[Topic, Vector]]:
    """The same in as many packets as it takes, in the same order: one topic at least in each, if there are any."""
    if len(vectors) <= TOPICS_MAX and size_of(vectors) <= PORTION:
        return [vectors]
    found: list[dict[Topic, Vector]] = [{}]
    size = 0
    for topic, vector in vectors.items():
        more = size_of((topic, vector))
        if found[-1] and (size + more > PORTION or len(found[-1]) == TOPICS_MAX):
            found.append({})
            size = 0
        found[-1][topic] = vector
        size += more
    return found

"""What an audit found: not "wrong", but who, what, when, and beside which other message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trellis.trace.rows import Row
from trellis.words import MessageId, NodeId, Time


class Witness(NamedTuple):
    """One violation of one promise."""

    audit: str
    at: Time
    node: NodeId
    message: MessageId
    other: MessageId | None
    says: str

    def as_dict(self) -> dict[str, object]:
        other = None if self.other is None else str(self.other)
        return {
            "audit": self.audit,
            "at": self.at,
            "node": self.node,
            "message": str(self.message),
            "other": other,
            "says": self.says,
        }


def in_order(found: Iterable[Witness]) -> list[Witness]:
    """The order in which witnesses are shown: by when, where and what, whatever order they were found in."""
    return sorted(found, key=lambda witness: (witness.at, witness.node, witness.message, witness.says))


def id_of(row: Row) -> MessageId:
    return MessageId((row.source, row.incarnation), row.topic, row.seq)


def ids_of(row: Row) -> list[MessageId]:
    """The messages that a packet carried: numbered one after the other from the first."""
    origin = (row.source, row.incarnation)
    return [MessageId(origin, row.topic, row.seq + n) for n in range(row.batch)]

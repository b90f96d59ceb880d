"""The story of one message: all that happened to it, in order, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trellis.errors import TraceError
from trellis.trace.rows import Row
from trellis.words import MessageId

NAME = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?:(-?\d{1,18})(?:@(.+))?", re.ASCII)


def parse(name: str, topics: Iterable[str]) -> MessageId:
    """`3:7@news` is message 7 of node 3 on news; the topic may be left out where there is only one."""
    found = NAME.fullmatch(name)
    if found is None:
        raise TraceError(f"message {name!r}: not a message; write SOURCE:NUMBER@TOPIC, as in 3:7@news")
    source, incarnation, seq, topic = found.groups()
    if topic is None:
        known = sorted(set(topics))
        if len(known) != 1:
            raise TraceError(
                f"message {name!r}: there are {len(known)} topics; say which, as in {name}@{(known or ['t'])[0]}"
            )
        topic = known[0]
    return MessageId((int(source), int(incarnation or 0)), topic, int(seq))


def story(rows: Iterable[Row], id: MessageId) -> Iterator[Row]:
    """The rows that concern this message, also as part of a batch."""
    for row in rows:
        same_source = (row.source, row.incarnation, row.topic) == (id.source, id.incarnation, id.topic)
        if same_source and (row.seq == id.seq or row.seq < id.seq < row.seq + row.batch):
            yield row


def tell(row: Row) -> str:
    """One row as one line."""
    batch = f" ({row.batch} messages)" if row.batch > 1 else ""
    match row.kind:
        case "send":
            queued = f", leaves the queue at {row.at + row.wait}" if row.wait > 1 else ""
            what = f"send {row.packet}{batch} -> {row.peer}{queued}"
        case "receive":
            what = f"receive {row.packet}{batch} <- {row.peer}"
        case "spread":
            what = f"spread, following {row.barrier} message{'' if row.barrier == 1 else 's'}"
        case "settle":
            what = f"settle{batch}: every confirmed subscriber has it"
        case "gap":
            what = f"gap{batch}: its application was told that it will not come"
        case "late":
            what = "deliver, tagged as out of order"
        case "suspect" | "restore":
            what = f"{row.kind} {row.peer}"
        case _:
            what = row.kind
    return f"t={row.at:<8} node {row.node:<5} {what}"

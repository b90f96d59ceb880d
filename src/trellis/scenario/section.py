"""What the tables of a scenario are made of: a key has its limit beside it, and one that is not listed is refused."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

TIME_MAX = 1 << 40  # of one key; a trace has 63 bits, so eight million of the longest waits can follow each other
COUNT_MAX = 10_000_000
NODES_MAX = 1 << 20
TOPICS_MAX = 1 << 17
NAME_BYTES_MAX = 256
SEED_MAX = (1 << 63) - 1

Count = Annotated[int, Meta(ge=1, le=COUNT_MAX)]
Moment = Annotated[int, Meta(ge=0, le=TIME_MAX)]
Span = Annotated[int, Meta(ge=1, le=TIME_MAX)]
Node = Annotated[int, Meta(ge=0, lt=NODES_MAX)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_BYTES_MAX)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file. A key that is not listed is refused."""

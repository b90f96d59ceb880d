"""Whom a node can reach, as far as it knows."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from trellis.words import NodeId


class Reach(Collection[NodeId]):
    """All of a range of ids but for some, and some besides. Where nothing fails it costs nothing."""

    __slots__ = ("base", "besides", "without")

    def __init__(self, base: range) -> None:
        self.base = base
        self.without: dict[NodeId, None] = {}
        self.besides: dict[NodeId, None] = {}

    def __contains__(self, node: object) -> bool:
        return node in self.besides or (node in self.base and node not in self.without)

    def __iter__(self) -> Iterator[NodeId]:
        yield from (node for node in self.base if node not in self.without)
        yield from self.besides

    def __len__(self) -> int:
        return len(self.base) - len(self.without) + len(self.besides)

    def add(self, node: NodeId) -> None:
        self.without.pop(node, None)
        if node not in self.base:
            self.besides[node] = None

    def remove(self, node: NodeId) -> None:
        self.besides.pop(node, None)
        if node in self.base:
            self.without[node] = None

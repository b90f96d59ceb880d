"""Numbers of topics over which a subscriber went on: what has them may still come."""

from __future__ import annotations

from bisect import bisect_right, insort

from trellis.words import Topic

PASSED_MAX = 10_000  # rows of numbers that were passed over and may still come; then there is no more haste


class Passed:
    """Numbers of each topic that were passed over and may still come."""

    def __init__(self) -> None:
        self.rows: dict[Topic, list[tuple[int, int]]] = {}  # from the first to the last, ascending
        self.count = 0

    @property
    def full(self) -> bool:
        return self.count >= PASSED_MAX

    def add(self, topic: Topic, first: int, last: int) -> None:
        insort(self.rows.setdefault(topic, []), (first, last))
        self.count += 1

    def __contains__(self, place: tuple[Topic, int]) -> bool:
        return self.row_of(*place) is not None

    def row_of(self, topic: Topic, number: int) -> int | None:
        rows = self.rows.get(topic, ())
        n = bisect_right(rows, number, key=lambda row: row[0]) - 1
        return n if n >= 0 and number <= rows[n][1] else None

    def take(self, topic: Topic, first: int, last: int) -> list[tuple[int, int]]:
        """Those between these came, or never will: which of them were here."""
        before = self.rows.get(topic, [])
        kept: list[tuple[int, int]] = []
        found: list[tuple[int, int]] = []
        for low, high in before:
            if high < first or last < low:
                kept.append((low, high))
                continue
            found.append((max(low, first), min(high, last)))
            kept += [row for row in ((low, first - 1), (last + 1, high)) if row[0] <= row[1]]
        self.count += len(kept) - len(before)
        self.rows[topic] = kept
        if not kept:
            del self.rows[topic]
        return found

    def forget(self, topic: Topic) -> None:
        self.count -= len(self.rows.pop(topic, ()))

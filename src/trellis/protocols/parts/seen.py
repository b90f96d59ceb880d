"""Which numbers have come, per origin: a watermark, and what came ahead of it.

Promises: exact, and small: everything up to an origin's watermark has come (or was given up); only what came ahead of a
          gap is kept one by one.
Assumes:  numbers come in the portions in which they were published, so two portions are the same or apart.
"""

from __future__ import annotations

from trellis.words import Origin, Vector


class Seen:
    """Numbers start at 1."""

    __slots__ = ("ahead", "upto")

    def __init__(self, cut: Vector | None = None) -> None:
        self.upto: Vector = dict(cut or {})
        self.ahead: dict[Origin, dict[int, int]] = {}  # first number -> last, of those origins only that have a gap

    def add(self, origin: Origin, first: int, last: int) -> bool:
        """Note the numbers from first to last; False when they came before."""
        upto = self.upto.get(origin, 0)
        if first == upto + 1:  # mostly
            self.upto[origin] = last
            if self.ahead:
                self.close(origin)
            return True
        if first <= upto:
            return False
        ahead = self.ahead.setdefault(origin, {})
        if first in ahead:
            return False
        ahead[first] = last
        self.upto.setdefault(origin, 0)
        return True

    def give_up(self, origin: Origin, upto: int) -> list[tuple[int, int]]:
        """What is missing up to this number will not come any more. These are the missing ones, first to last."""
        after, missing = self.upto.get(origin, 0) + 1, []
        ahead = self.ahead.get(origin, {})
        for first in sorted(first for first in ahead if first <= upto):
            if first > after:
                missing.append((after, first - 1))
            after = ahead.pop(first) + 1
        if after <= upto:
            missing.append((after, upto))
        self.upto[origin] = max(upto, after - 1)
        self.close(origin)
        return missing

    def close(self, origin: Origin) -> None:
        """Let the watermark run over what came ahead."""
        ahead = self.ahead.get(origin)
        if ahead is None:
            return
        upto = self.upto[origin]
        while (last := ahead.pop(upto + 1, None)) is not None:
            upto = last
        self.upto[origin] = upto
        if not ahead:
            del self.ahead[origin]

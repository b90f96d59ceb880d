"""Which numbers have come, per origin: a watermark, and what came ahead of it.

Promises: exact, and small: everything up to an origin's watermark has come (or will never come); only what came ahead
          of a gap is kept one by one.
"""

from __future__ import annotations

from trellis.words import Origin, Vector


class Seen:
    """Numbers start at 1."""

    __slots__ = ("ahead", "upto")

    def __init__(self, cut: Vector | None = None) -> None:
        self.upto: Vector = dict(cut or {})
        self.ahead: dict[Origin, set[int]] = {}  # of those origins only that have a gap; membership tests only

    def add(self, origin: Origin, seq: int, since: int = 0) -> bool:
        """Note a number; False when it came before. Numbers up to `since` will not come any more."""
        upto = self.upto.get(origin, 0)
        if upto < since:
            upto = since
        if seq == upto + 1 and not self.ahead:  # mostly
            self.upto[origin] = seq
            return True
        ahead = self.ahead.get(origin)
        if seq <= upto or (ahead is not None and seq in ahead):
            return False
        if seq > upto + 1:
            self.ahead.setdefault(origin, set()).add(seq)
            self.upto[origin] = upto
        else:
            self.upto[origin] = seq
        if ahead is not None:
            self.close(origin, ahead)
        return True

    def close(self, origin: Origin, ahead: set[int]) -> None:
        """Let the watermark run over what came ahead."""
        upto = self.upto[origin]
        while upto + 1 in ahead:
            upto += 1
        ahead.difference_update([seq for seq in ahead if seq <= upto])
        self.upto[origin] = upto
        if not ahead:
            del self.ahead[origin]

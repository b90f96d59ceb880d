"""Which numbers of one origin have come: a watermark and what came ahead of it.

Promises: exact, and small: everything up to the watermark has come (or will never come), `ahead` holds the rest.
"""

from __future__ import annotations


class Seen:
    """Numbers start at 1."""

    __slots__ = ("ahead", "upto")

    def __init__(self, upto: int = 0) -> None:
        self.upto = upto
        self.ahead: set[int] = set()  # membership tests only, never iterated

    def add(self, seq: int) -> bool:
        """Note a number; False when it came before."""
        if seq == self.upto + 1:
            self.upto = seq
            if self.ahead:
                self._close()
            return True
        if seq <= self.upto or seq in self.ahead:
            return False
        self.ahead.add(seq)
        return True

    def raise_to(self, upto: int) -> None:
        """Numbers up to this one will not come any more."""
        if upto > self.upto:
            self.upto = upto
            self.ahead = {seq for seq in self.ahead if seq > upto}
            self._close()

    def _close(self) -> None:
        while self.upto + 1 in self.ahead:
            self.upto += 1
            self.ahead.remove(self.upto)

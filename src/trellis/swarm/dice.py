"""What random schedules are made with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from trellis import draw
from trellis.scenario.model import Matrix

Drawn = TypeVar("Drawn")


class Dice:
    """Throws that are numbered: each is a draw of its own."""

    def __init__(self, seed: int, purpose: int = draw.SWARM) -> None:
        self.seed = seed
        self.purpose = purpose
        self.thrown = 0

    def between(self, low: int, high: int) -> int:
        self.thrown += 1
        return draw.between(draw.draw(self.seed, self.purpose, self.thrown), low, high)

    def one_of(self, options: Sequence[Drawn]) -> Drawn:
        return options[self.between(0, len(options) - 1)]


def uneven_links(dice: Dice, count: int, service: int) -> Matrix:
    times = [[1, 1, 100, 1000], [1, 30, 1000], [1, 1, 1, 3000]][dice.between(0, 2)]
    return Matrix(rows=[[dice.one_of(times) for _ in range(count)] for _ in range(count)], service=service)

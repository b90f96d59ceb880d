"""Timestamps of the multistage sequencer: a number for the topic, and one for each topic of its group.

Source:   TNO, section 3.4, Definitions 2 to 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trellis.words import Stamp, Topic


def stamp_of(entries: Mapping[Topic, int]) -> Stamp:
    return tuple(sorted(entries.items()))


def comparable(one: Stamp, two: Stamp) -> bool:
    """Definition 3: they have a topic in common."""
    return not {topic for topic, _ in one}.isdisjoint(topic for topic, _ in two)


def smaller(one: Stamp, two: Stamp) -> bool:
    """Definition 4: of the topics that both have, none is larger in the first, and one is smaller."""
    pairs = list(common(one, two))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def common(one: Stamp, two: Stamp) -> Iterable[tuple[int, int]]:
    other = dict(two)
    return ((number, other[topic]) for topic, number in one if topic in other)

"""What is known of a run that kept no trace: whole numbers, as exact as the rows that they were counted from."""

from __future__ import annotations

from typing import NamedTuple


class Sums(NamedTuple):
    """Of a set of numbers. The extremes mean nothing where there are none."""

    many: int
    total: int
    squares: int
    least: int
    most: int


class Tally(NamedTuple):
    """As metrics/measures.py has them, by their names there where they have one."""

    until: int
    published: int
    deliveries: int
    sent: dict[str, int]
    reception: Sums
    delivery: Sums
    delays: dict[int, int]
    relayed: Sums
    confirmation: Sums
    wait: Sums  # of packets in outgoing queues
    waited: list[int]  # the same by node, in sum
    pubs: list[int]  # PUB packets by node
    met: list[int]  # how long those waited, in sum
    barriers: dict[int, int]
    false_positives: int
    owed: int
    made: int

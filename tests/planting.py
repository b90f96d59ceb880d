"""Traces with a violation planted in them: each planting takes the rows of a sound run and spoils them.

A planting that finds no fitting place gives back None. Positions are numbered anew by whoever uses the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from trellis.trace.rows import Row

Planting = Callable[[list[Row], Random], list[Row] | None]


def places(rows: list[Row], *kinds: str) -> list[int]:
    return [n for n, row in enumerate(rows) if row.kind in kinds]


def same_message(row: Row, other: Row) -> bool:
    return row[4:8] == other[4:8]


def drop_a_delivery(rows: list[Row], random: Random) -> list[Row] | None:
    """Nothing of it ever came to the node."""
    steady = [n for n in places(rows, "deliver") if rows[n].node != rows[n].source]
    if not steady:
        return None
    gone = rows[random.choice(steady)]
    return [row for row in rows if not (row.node == gone.node and same_message(row, gone) and row.kind != "settle")]


def hold_one_back(rows: list[Row], random: Random) -> list[Row] | None:
    """It came, and is not delivered."""
    n = random.choice(places(rows, "deliver") or [-1])
    return None if n < 0 else rows[:n] + rows[n + 1 :]


def take_it_for_an_old_one(rows: list[Row], random: Random) -> list[Row] | None:
    came = [n for n in places(rows, "deliver") if rows[n].node != rows[n].source]
    if not came:
        return None
    n = random.choice(came)
    return [*rows[:n], rows[n]._replace(kind="skip"), *rows[n + 1 :]]


def duplicate_a_delivery(rows: list[Row], random: Random) -> list[Row] | None:
    n = random.choice(places(rows, "deliver") or [-1])
    if n < 0:
        return None
    spoilt = list(rows)
    for _ in range(random.choice([1, 1, 2])):
        spoilt.insert(random.randint(n + 1, len(spoilt)), rows[n])
    return spoilt


def invent_a_message(rows: list[Row], random: Random) -> list[Row] | None:
    n = random.choice(places(rows, "deliver") or [-1])
    if n < 0:
        return None
    strange = random.choice([{"seq": rows[n].seq + random.choice([1, 1000])}, {"source": 77}, {"incarnation": 3}])
    return [*rows[: n + 1], rows[n]._replace(**strange), *rows[n + 1 :]]


def deliver_to_a_stranger(rows: list[Row], random: Random) -> list[Row] | None:
    n = random.choice(places(rows, "deliver") or [-1])
    return None if n < 0 else [*rows[: n + 1], rows[n]._replace(node=99), *rows[n + 1 :]]


def swap(rows: list[Row], one: int, two: int) -> list[Row]:
    """Two deliveries of one node change places; the clock does not."""
    spoilt = list(rows)
    spoilt[one], spoilt[two] = rows[two]._replace(at=rows[one].at), rows[one]._replace(at=rows[two].at)
    return spoilt


def swap_two_of_one_source(rows: list[Row], random: Random) -> list[Row] | None:
    return swap_two(rows, random, lambda a, b: a[4:7] == b[4:7] and a.seq != b.seq)


def invert_a_pair(rows: list[Row], random: Random) -> list[Row] | None:
    return swap_two(rows, random, lambda a, b: not same_message(a, b) and a[4:7] != b[4:7])


def swap_two(rows: list[Row], random: Random, fitting: Callable[[Row, Row], bool]) -> list[Row] | None:
    delivered = places(rows, "deliver")
    random.shuffle(delivered)
    for one in delivered:
        mine = [two for two in delivered if two > one and rows[two].node == rows[one].node]
        mine = [two for two in mine if fitting(rows[one], rows[two])]
        if mine:
            return swap(rows, one, min(mine))
    return None


def forget_the_middle(rows: list[Row], random: Random) -> list[Row] | None:
    """Hole V3: a -> x1 -> x2; one node never gets x1, and delivers x2 before a. Strangers' lives lie in between."""
    one, two, nine = random.sample(range(8), 3)
    story = [
        ("publish", one, one, 1),
        ("deliver", two, one, 1),
        ("publish", two, two, 1),
        ("publish", two, two, 2),
        ("deliver", nine, two, 2),
        ("deliver", nine, one, 1),
    ]
    spoilt = list(rows)
    spots = sorted(random.randint(0, len(rows)) for _ in story)
    for n, (spot, (kind, node, source, seq)) in enumerate(zip(spots, story, strict=True)):
        at = rows[min(spot, len(rows) - 1)].at if rows else 0
        spoilt.insert(spot + n, Row(0, at, node, kind, "v", source, 0, seq, "", -1, 0, 0, 0))
    return spoilt


def never_confirm(rows: list[Row], random: Random) -> list[Row] | None:
    at = random.randint(0, len(rows))
    return [*rows[:at], Row(0, 5, 98, "subscribe", "a", 98, 0, -1, "", -1, 0, 0, 0), *rows[at:]]


# Not violations, but logs that an audit must read as its twin does.


def come_back_without_a_word(rows: list[Row], random: Random) -> list[Row] | None:
    n = random.choice(places(rows, "confirm") or [-1])
    if n < 0:
        return None
    at = random.randint(n + 1, len(rows))
    return [*rows[:at], rows[n]._replace(kind="subscribe"), *rows[at:]]


def publish_it_after_all(rows: list[Row], random: Random) -> list[Row] | None:
    """The log has a publication after deliveries of the message."""
    n = random.choice(places(rows, "publish") or [-1])
    if n < 0:
        return None
    spoilt = list(rows)
    moved = spoilt.pop(n)
    spoilt.insert(random.randint(n, len(spoilt)), moved)
    return spoilt


def say_it_twice(rows: list[Row], random: Random) -> list[Row] | None:
    n = random.choice(places(rows, "publish", "confirm", "unsubscribe", "settle") or [-1])
    if n < 0:
        return None
    at = random.randint(n + 1, len(rows))
    return [*rows[:at], rows[n], *rows[at:]]


def live_again(rows: list[Row], random: Random) -> list[Row] | None:
    """A source has a second life from some moment on."""
    n = random.choice(places(rows, "publish") or [-1])
    if n < 0:
        return None
    return [r._replace(incarnation=1) if r.source == rows[n].source and r.seq >= rows[n].seq else r for r in rows]


def count_in_strides(rows: list[Row], random: Random) -> list[Row] | None:
    """Numbers with holes between them."""
    return [row._replace(seq=row.seq * 7) if row.batch <= 1 else row for row in rows]


def leave_out_rows(rows: list[Row], random: Random) -> list[Row] | None:
    return [row for row in rows if random.random() < 0.9]


# Which audit must notice each planting, at least somewhere.
VIOLATIONS: dict[Planting, str] = {
    drop_a_delivery: "lost",
    hold_one_back: "stuck",
    take_it_for_an_old_one: "lost",
    duplicate_a_delivery: "duplicate",
    invent_a_message: "creation",
    deliver_to_a_stranger: "uninvited",
    swap_two_of_one_source: "fifo",
    invert_a_pair: "total",
    forget_the_middle: "causal",
    never_confirm: "stuck",
}
ODDITIES: tuple[Planting, ...] = (
    come_back_without_a_word,
    publish_it_after_all,
    say_it_twice,
    live_again,
    count_in_strides,
    leave_out_rows,
)

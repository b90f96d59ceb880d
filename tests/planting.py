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


def hold_ones_own_back(rows: list[Row], random: Random) -> list[Row] | None:
    """A publisher waits for ever for the turn of its own message."""
    own = [n for n in places(rows, "deliver") if rows[n].node == rows[n].source]
    if not own:
        return None
    n = random.choice(own)
    return rows[:n] + rows[n + 1 :]


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


def answer_elsewhere(rows: list[Row], random: Random) -> list[Row] | None:
    """a on one topic, then b on another; who gets both gets b first. On each topic by itself all is well."""
    one, two, nine = random.sample(range(8), 3)
    story = [("publish", one, "v", one), ("deliver", two, "v", one), ("publish", two, "w", two)]
    if random.random() < 0.5:  # a third node says it, on a third topic
        three = random.choice([node for node in range(8) if node not in (one, two, nine)])
        story += [("deliver", three, "w", two), ("publish", three, "u", three), ("deliver", nine, "u", three)]
    else:
        story += [("deliver", nine, "w", two)]
    return spread_out(rows, random, [(*said, 1) for said in [*story, ("deliver", nine, "v", one)]])


def forget_the_middle(rows: list[Row], random: Random) -> list[Row] | None:
    """Hole V3: a -> x1 -> x2; one node never gets x1, and delivers x2 before a. Strangers' lives lie in between."""
    one, two, nine = random.sample(range(8), 3)
    story = [
        ("publish", one, "v", one, 1),
        ("deliver", two, "v", one, 1),
        ("publish", two, "v", two, 1),
        ("publish", two, "v", two, 2),
        ("deliver", nine, "v", two, 2),
        ("deliver", nine, "v", one, 1),
    ]
    return spread_out(rows, random, story)


def spread_out(rows: list[Row], random: Random, story: list[tuple[str, int, str, int, int]]) -> list[Row]:
    """A story of its own (kind, node, topic, source, number) between the others."""
    spoilt = list(rows)
    spots = sorted(random.randint(0, len(rows)) for _ in story)
    for n, (spot, (kind, node, topic, source, seq)) in enumerate(zip(spots, story, strict=True)):
        at = rows[min(spot, len(rows) - 1)].at if rows else 0
        spoilt.insert(spot + n, Row(0, at, node, kind, topic, source, 0, seq, "", -1, 0, 0, 0))
    return spoilt


def never_confirm(rows: list[Row], random: Random) -> list[Row] | None:
    at = random.randint(0, len(rows))
    return [*rows[:at], Row(0, 5, 98, "subscribe", "a", 98, 0, -1, "", -1, 0, 0, 0), *rows[at:]]


def row_about(node: int, kind: str, incarnation: int = 0) -> Row:
    """A row about a node as a whole."""
    return Row(0, 0, node, kind, "", node, incarnation, 0, "", -1, 0, 0, 0)


def put_in(rows: list[Row], at: int, *new: Row) -> list[Row]:
    when = rows[min(at, len(rows) - 1)].at
    return [*rows[:at], *(row._replace(at=when) for row in new), *rows[at:]]


def tell_of_a_gap(rows: list[Row], at: int, about: Row, count: int = 1) -> list[Row]:
    return put_in(rows, at, about._replace(kind="gap", batch=count))


def deliver_after_a_gap(rows: list[Row], random: Random) -> list[Row] | None:
    n = random.choice(places(rows, "deliver") or [-1])
    if n < 0:
        return None
    return tell_of_a_gap(rows, random.randint(0, n), rows[n]._replace(seq=max(0, rows[n].seq - 1)), 2)


def die_and_go_on(rows: list[Row], random: Random) -> list[Row] | None:
    """A node is said to have crashed or stopped, and delivers all the same; sometimes it is started anew meanwhile."""
    n = random.choice(places(rows, "deliver") or [-1])
    if n < 0:
        return None
    words = [row_about(rows[n].node, random.choice(["crash", "stop"])), row_about(rows[n].node, "start", 1)]
    return put_in(rows, random.randint(0, n), *words[: random.choice([1, 2])])


def start_anew_and_stutter(rows: list[Row], random: Random) -> list[Row] | None:
    """A new life is handed everything again, as it may be, and one of it twice."""
    lives = {row.node for row in rows if row.kind == "deliver"}
    if not lives:
        return None
    node = random.choice(sorted(lives))
    again = [row for row in rows if row.node == node and row.kind in ("subscribe", "confirm", "unsubscribe", "deliver")]
    last = max(n for n, row in enumerate(again) if row.kind == "deliver")
    return put_in(rows, len(rows), row_about(node, "crash"), row_about(node, "start", 1), *again, again[last])


# Not violations, but logs that an audit must read as its twin does.


def leave_before_ones_own_turn(rows: list[Row], random: Random) -> list[Row] | None:
    """A publisher leaves while it still waits for the turn of its own message, which all others have got."""
    spoilt = hold_ones_own_back(rows, random)
    if spoilt is None:
        return None
    left = {row[2:8] for row in spoilt if row.kind == "deliver"}
    gone = next(row for row in rows if row.kind == "deliver" and row[2:8] not in left)
    return [*spoilt, gone._replace(at=rows[-1].at, kind="unsubscribe", seq=0)]


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


def excuse_by_a_gap(rows: list[Row], random: Random) -> list[Row] | None:
    """What never came, or is held back, was announced; sometimes for another message, or at another node."""
    spoilt = random.choice([drop_a_delivery, hold_one_back, take_it_for_an_old_one])(rows, random)
    if spoilt is None:
        return None
    left = {row[2:8] for row in spoilt if row.kind == "deliver"}
    gone = next(row for row in rows if row.kind == "deliver" and row[2:8] not in left)
    if random.random() < 0.2:
        gone = gone._replace(**random.choice([{"node": gone.node ^ 1}, {"seq": gone.seq + 1}, {"incarnation": 1}]))
    return tell_of_a_gap(spoilt, random.randint(0, len(spoilt)), gone, random.choice([1, 1, 3]))


def crash(rows: list[Row], random: Random) -> list[Row] | None:
    """A node dies for good: nothing of it comes afterwards, and what it had sent may be lost."""
    if not rows:
        return None
    node, at = random.choice(sorted({row.node for row in rows})), random.randint(0, len(rows))
    after = [row for row in rows[at:] if row.node != node]
    if random.random() < 0.5:
        after = [row for row in after if row.source != node or row.kind not in ("deliver", "receive")]
    return put_in([*rows[:at], *after], at, row_about(node, random.choice(["crash", "crash", "stop"])))


def crash_and_come_back(rows: list[Row], random: Random) -> list[Row] | None:
    """What a node lived through after some moment it lived through in another life; what it publishes then is new."""
    if not rows:
        return None
    node, at = random.choice(sorted({row.node for row in rows})), random.randint(0, len(rows))
    before = {row[4:8] for row in rows[:at] if row.source == node}
    after = [row._replace(incarnation=1) if row.source == node and row[4:8] not in before else row for row in rows[at:]]
    again = [row for row in rows[:at] if row.node == node and row.kind in ("subscribe", "confirm", "deliver")]
    if random.random() < 0.5:
        random.shuffle(again)
    words = [row_about(node, random.choice(["crash", "stop"])), row_about(node, "start", 1)]
    return put_in([*rows[:at], *after], at, *words[random.choice([0, 0, 1]) :], *again)


def wait_for_the_dead(rows: list[Row], random: Random) -> list[Row] | None:
    """A source answers another; at a third node both are held back, and both sources die: the first one for good, or
    not, and the third one was told of what it said, or not.
    """
    came = [n for n in places(rows, "deliver") if rows[n].node != rows[n].source]
    fitting = [
        (rows[n], rows[k])
        for n in random.sample(came, min(len(came), 20))
        for k in came
        if rows[k].node == rows[n].source and rows[k].topic == rows[n].topic and rows[k].source != rows[n].node
    ]
    if not fitting:
        return None
    answer, read = random.choice(fitting)
    lacks = [answer, read] if random.random() < 0.8 else [answer]
    spoilt = [
        row
        for row in rows
        if not (row.kind == "deliver" and row.node == answer.node and any(same_message(row, gone) for gone in lacks))
    ]
    if random.random() < 0.2:
        spoilt = tell_of_a_gap(spoilt, len(spoilt), read._replace(node=answer.node))
    words = [row_about(answer.source, "crash"), row_about(answer.source, "start", 1)]
    if random.random() < 0.8:
        words.append(row_about(read.source, "crash"))
    return put_in(spoilt, len(spoilt), *words)


def tag_some(rows: list[Row], random: Random) -> list[Row] | None:
    """Deliveries are said to be out of order, whether they are or not; some of them come twice."""
    few = set(random.sample(delivered := places(rows, "deliver"), len(delivered) // random.choice([2, 5, 20])))
    spoilt = [row._replace(kind="late") if n in few else row for n, row in enumerate(rows)]
    for n in random.sample(sorted(few), min(len(few), random.choice([0, 0, 2]))):
        spoilt.insert(random.randint(n + 1, len(spoilt)), rows[n]._replace(kind=random.choice(["late", "deliver"])))
    return spoilt


def swap_and_tag(rows: list[Row], random: Random) -> list[Row] | None:
    """Pairs change places, and of some of them one is tagged: the one that comes too late, or the other one."""
    for n in range(random.choice([1, 2, 6])):
        swapped = (swap_two_of_one_source if n % 2 else invert_a_pair)(rows, random)
        if swapped is None:
            return rows if n else None
        moved = [k for k, (row, now) in enumerate(zip(rows, swapped, strict=True)) if row != now]
        rows = swapped
        if random.random() < 0.8:
            k = random.choice([*moved, moved[-1], moved[-1]])
            rows[k] = rows[k]._replace(kind="late")
    return rows


# Which audit must notice each planting, at least somewhere.
VIOLATIONS: dict[Planting, str] = {
    drop_a_delivery: "lost",
    hold_one_back: "stuck",
    hold_ones_own_back: "stuck",
    take_it_for_an_old_one: "lost",
    duplicate_a_delivery: "duplicate",
    invent_a_message: "creation",
    deliver_to_a_stranger: "uninvited",
    swap_two_of_one_source: "fifo",
    invert_a_pair: "total",
    forget_the_middle: "causal",
    answer_elsewhere: "across",
    never_confirm: "stuck",
    deliver_after_a_gap: "uninvited",
    die_and_go_on: "uninvited",
    start_anew_and_stutter: "duplicate",
}
ODDITIES: tuple[Planting, ...] = (
    leave_before_ones_own_turn,
    come_back_without_a_word,
    publish_it_after_all,
    say_it_twice,
    live_again,
    count_in_strides,
    leave_out_rows,
    excuse_by_a_gap,
    crash,
    crash_and_come_back,
    wait_for_the_dead,
    tag_some,
    swap_and_tag,
)

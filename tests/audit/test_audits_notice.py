"""Each audit notices a protocol that is broken on purpose, and is content with one that is not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from trellis import protocols
from trellis.audit import AUDITS, PROMISES, SAYS, judge, promises_of
from trellis.audit.diagnosis import Diagnosis
from trellis.audit.verdict import asked_of
from trellis.effects import Deliver, Effect, Note, Send
from trellis.events import Event, Receive
from trellis.machine import Machine, Place
from trellis.protocols.overlays.vcube_packets import Pub
from trellis.scenario import from_mapping
from trellis.scenario.model import Scenario
from trellis.sim import run
from trellis.swarm import schedule
from trellis.trace.rows import Row
from trellis.trace.table import trace_of
from trellis.words import Message, MessageId, Time


class Broken(Machine):
    """A sound machine whose effects pass through a saboteur."""

    def __init__(self, place: Place, ordering: str = "causal") -> None:
        super().__init__(place)
        self.sound = protocols.build("vcube", ordering, place)

    def upon(self, event: Event) -> None:
        self.outbox.extend(self.spoil(event, self.sound.step(self.now, event)))

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        return effects


class Inventive(Broken):
    """Delivers a message that nobody published."""

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        if self.me == 3 and isinstance(event, Receive) and isinstance(event.packet, Pub):
            return [*effects, Deliver(Message(MessageId((1, 0), "t0", 999), b"never said"))]
        return effects


class Stuttering(Broken):
    """Delivers everything twice."""

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        return [copy for effect in effects for copy in ([effect, effect] if isinstance(effect, Deliver) else [effect])]


class Forgetful(Broken):
    """Acknowledges what it should pass on, and passes nothing on."""

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        if self.me == 2 and isinstance(event, Receive):
            return [effect for effect in effects if not (isinstance(effect, Send) and isinstance(effect.packet, Pub))]
        return effects


class Miserly(Broken):
    """Keeps what it received to itself."""

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        if self.me == 5 and isinstance(event, Receive):
            return [effect for effect in effects if not isinstance(effect, Deliver)]
        return effects


class Conceited(Broken):
    """Takes new messages for old ones."""

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        if self.me == 6 and isinstance(event, Receive):
            return [Note("skip", e.message.id) if isinstance(e, Deliver) else e for e in effects]
        return effects


class Clinging(Broken):
    """Delivers to an application that has left."""

    def spoil(self, event: Event, effects: Sequence[Effect]) -> Sequence[Effect]:
        return [Deliver(Message(e.id, b"")) if isinstance(e, Note) and e.kind == "skip" else e for e in effects]


class Impatient(Broken):
    """Has no order at all, though it promised causal order."""

    def __init__(self, place: Place) -> None:
        super().__init__(place, "unordered")


def discussion(messages: int = 3) -> Scenario:
    """Eight nodes talk at once over a network on which a later packet often comes first."""
    return from_mapping(
        {
            "name": "talk",
            "seed": 3,
            "stack": {"overlay": "vcube", "ordering": "causal"},
            "nodes": {"count": 8},
            "subscriptions": {"kind": "fraction", "fraction": 1.0},
            "workload": {
                "kind": "explicit",
                "messages": [
                    {"at": 40 * n, "node": node, "topic": "t0", "payload": f"{n}"}
                    for n in range(messages)
                    for node in range(8)
                ],
            },
            "network": {"kind": "random", "low": 1, "high": 300, "fifo": False},
        }
    )


def verdict(machine: type[Machine] | None) -> dict[str, int]:
    result = run(discussion(), build=machine)  # type: ignore[arg-type]
    return {name: len(found) for name, found in judge(result.trace, PROMISES["causal"]).items()}


def test_a_sound_protocol_has_no_witness_against_it() -> None:
    assert verdict(Broken) == dict.fromkeys(PROMISES["causal"], 0)
    assert verdict(None) == dict.fromkeys(PROMISES["causal"], 0)


@pytest.mark.parametrize(
    ("machine", "audit"),
    [
        (Inventive, "creation"),
        (Stuttering, "duplicate"),
        (Impatient, "fifo"),
        (Impatient, "causal"),
        (Forgetful, "lost"),
        (Miserly, "stuck"),
        (Conceited, "lost"),
    ],
)
def test_an_audit_notices_a_protocol_that_is_broken_on_purpose(machine: type[Machine], audit: str) -> None:
    assert verdict(machine)[audit] > 0


def test_a_delivery_to_an_application_that_has_left_is_noticed() -> None:
    uninvited = 0
    for seed in range(6):
        result = run(schedule(seed, "vcube", "causal"), build=Clinging)  # type: ignore[arg-type]
        uninvited += len(judge(result.trace, ["uninvited"])["uninvited"])
    assert uninvited > 0


def test_a_causal_witness_names_both_messages_and_is_true() -> None:
    result = run(discussion(), build=Impatient)  # type: ignore[arg-type]
    witness = judge(result.trace, ["causal"])["causal"][0]
    assert witness.other is not None
    order = [
        str(MessageId((r.source, 0), r.topic, r.seq))
        for r in result.trace.of_kind("deliver").rows()
        if r.node == witness.node
    ]
    assert order.index(str(witness.other)) < order.index(str(witness.message))


def test_the_printed_form_is_caught_under_joins_and_the_repaired_one_is_clean() -> None:
    printed = run(schedule(5, "vcube-printed", "causal")).trace
    found = judge(printed, PROMISES["causal"])
    assert found["lost"]
    assert found["stuck"]
    assert not any(judge(run(schedule(5, "vcube", "causal")).trace, PROMISES["causal"]).values())


# Traces written by hand: kind, node, source, seq (topic t, time = position)


def by_hand(*rows: tuple[str, int, int, int]) -> list[Row]:
    return on_topics(*((kind, node, "t", source, seq) for kind, node, source, seq in rows))


def on_topics(*rows: tuple[str, int, str, int, int]) -> list[Row]:
    made = [Row(n, n, row[1], row[0], row[2], row[3], 0, row[4], "", -1, 0, 0, 0) for n, row in enumerate(rows)]
    return list(trace_of(made).rows())


def test_a_barrier_that_forgets_cannot_hide_a_violation_from_the_causal_audit() -> None:
    """a -> x1 -> x2; node 9 never gets x1, and delivers x2 before a: only true happened-before shows it (V3)."""
    rows = by_hand(
        ("publish", 1, 1, 1),  # a
        ("deliver", 2, 1, 1),
        ("publish", 2, 2, 1),  # x1
        ("publish", 2, 2, 2),  # x2
        ("deliver", 9, 2, 2),
        ("deliver", 9, 1, 1),
    )
    (witness,) = AUDITS["causal"](rows)
    assert witness.says == "node 9 delivered 2:2@t before 1:1@t, which happened before it"
    assert AUDITS["fifo"](rows) == []


def test_what_happened_before_on_another_topic_must_come_before_and_the_audit_of_one_topic_does_not_see_it() -> None:
    """Node 2 reads a on v and says b on w; node 3 reads b and says c on u; node 9 gets c, then a."""
    rows = on_topics(
        ("publish", 1, "v", 1, 1),
        ("deliver", 2, "v", 1, 1),
        ("publish", 2, "w", 2, 1),
        ("deliver", 3, "w", 2, 1),
        ("publish", 3, "u", 3, 1),
        ("deliver", 9, "u", 3, 1),
        ("deliver", 9, "v", 1, 1),
    )
    (witness,) = AUDITS["across"](rows)
    assert witness.says == "node 9 delivered 3:1@u before 1:1@v, which happened before it"
    assert AUDITS["causal"](rows) == AUDITS["total"](rows) == []
    assert AUDITS["across"]([*rows[:5], *on_topics_after(rows, rows[6], rows[5])]) == []


def on_topics_after(rows: list[Row], *last: Row) -> list[Row]:
    return [row._replace(position=len(rows) + n, at=len(rows) + n) for n, row in enumerate(last)]


def test_who_left_a_topic_has_read_what_it_read_there() -> None:
    rows = on_topics(
        ("publish", 1, "v", 1, 1),
        ("confirm", 2, "v", 2, 0),
        ("deliver", 2, "v", 1, 1),
        ("unsubscribe", 2, "v", 2, 0),
        ("publish", 2, "w", 2, 1),
        ("deliver", 9, "w", 2, 1),
        ("deliver", 9, "v", 1, 1),
    )
    assert [str(witness.other) for witness in AUDITS["across"](rows)] == ["2:1@w"]
    anew = [row._replace(kind="start", topic="") if row.kind == "unsubscribe" else row for row in rows]
    assert AUDITS["across"](anew) == [], "a new life has forgotten it"


def test_what_a_run_must_stand_goes_by_its_ordering_and_by_its_options() -> None:
    assert promises_of("total") == PROMISES["total"]
    assert promises_of("total", {"desks": 3, "across": 0}) == PROMISES["total"]
    assert promises_of("total", {"across": 1}) == (*PROMISES["total"], "across")
    assert promises_of("per-topic", {"across": 1}) == PROMISES["per-topic"]
    assert set(AUDITS) == set(SAYS)
    stack = {"overlay": "vcube", "ordering": "total", "across": 1}
    about = {"ordering": "total", "scenario": {"stack": stack}}
    assert "across" in asked_of(Path("run"), about, every=False)
    assert "across" not in asked_of(Path("run"), {"ordering": "total"}, every=False)


def test_a_publisher_that_never_delivers_its_own_message_is_stuck_and_has_not_lost_it() -> None:
    rows = by_hand(("confirm", 1, 1, 0), ("publish", 1, 1, 1), ("settle", 1, 1, 1))
    held = [row._replace(batch=1) if row.kind == "settle" else row for row in rows]
    assert [w.says for w in AUDITS["stuck"](held)] == [
        "node 1 received 1:1@t at 1 and still holds it back at the end, 2"
    ]
    assert AUDITS["lost"](held) == []
    left = [*held, *on_topics_after(held, held[0]._replace(kind="unsubscribe"))]
    assert AUDITS["stuck"](left) == AUDITS["lost"](left) == []


def test_concurrent_messages_may_be_delivered_in_any_order() -> None:
    rows = by_hand(
        ("publish", 1, 1, 1),
        ("publish", 2, 2, 1),
        ("deliver", 1, 2, 1),
        ("deliver", 2, 1, 1),
        ("deliver", 3, 1, 1),
        ("deliver", 3, 2, 1),
        ("deliver", 4, 2, 1),
        ("deliver", 4, 1, 1),
    )
    assert AUDITS["causal"](rows) == []


def test_two_subscribers_that_disagree_about_the_order_are_named_with_the_messages() -> None:
    """1:1, 2:1, 3:1 at node 4; node 5 has the last one first; node 6 got only what it has in the same order."""
    rows = by_hand(
        ("deliver", 4, 1, 1),
        ("deliver", 4, 2, 1),
        ("deliver", 4, 3, 1),
        ("deliver", 5, 3, 1),
        ("deliver", 5, 1, 1),
        ("deliver", 5, 2, 1),
        ("deliver", 6, 1, 1),
        ("deliver", 6, 3, 1),
    )
    assert [w.says for w in AUDITS["total"](rows)] == [
        "node 5 delivered 3:1@t before 2:1@t, but node 4 delivered 2:1@t before 3:1@t",
        "node 6 delivered 1:1@t before 3:1@t, but node 5 delivered 3:1@t before 1:1@t",
    ]


def test_a_cycle_over_three_subscribers_is_allowed() -> None:
    rows = by_hand(
        ("deliver", 4, 1, 1),
        ("deliver", 4, 2, 1),
        ("deliver", 5, 2, 1),
        ("deliver", 5, 3, 1),
        ("deliver", 6, 3, 1),
        ("deliver", 6, 1, 1),
    )
    assert AUDITS["total"](rows) == []


def test_a_message_delivered_before_its_publication_is_written_down_hides_no_violation_behind_a_crash() -> None:
    """Node 9 delivers 2:1 twice, once before the log has its publication: the past counts from then on."""
    rows = by_hand(
        ("publish", 1, 1, 1),
        ("deliver", 2, 1, 1),
        ("deliver", 9, 2, 1),
        ("publish", 2, 2, 1),
        ("deliver", 9, 2, 1),
        ("deliver", 9, 1, 1),
    )
    assert [str(w.other) for w in AUDITS["causal"](rows)] == ["2:1@t"]


def test_a_node_that_subscribes_again_without_a_word_is_owed_nothing_until_it_is_confirmed_again() -> None:
    rows = by_hand(("confirm", 2, 2, 0), ("subscribe", 2, 2, 0), ("publish", 1, 1, 1), ("confirm", 2, 2, 0))
    assert AUDITS["lost"](rows) == []


def test_nothing_is_owed_to_whoever_was_not_confirmed_or_did_not_stay() -> None:
    rows = by_hand(
        ("confirm", 1, 1, 0),
        ("confirm", 2, 2, 0),
        ("subscribe", 3, 3, 0),
        ("publish", 1, 1, 1),
        ("deliver", 1, 1, 1),
        ("unsubscribe", 2, 2, 0),
        ("confirm", 3, 3, 0),
    )
    assert AUDITS["lost"](rows) == []
    stayed = [row for row in rows if row.kind != "unsubscribe"]
    assert [(w.node, str(w.message)) for w in AUDITS["lost"](stayed)] == [(2, "1:1@t")]


def test_a_subscription_that_is_never_confirmed_is_stuck() -> None:
    (witness,) = AUDITS["stuck"](by_hand(("subscribe", 3, 3, 0)))
    assert "never confirmed" in witness.says


def test_whoever_leaves_after_a_message_was_settled_must_have_had_it() -> None:
    rows = by_hand(
        ("confirm", 1, 1, 0),
        ("confirm", 2, 2, 0),
        ("publish", 1, 1, 1),
        ("deliver", 1, 1, 1),
        ("settle", 1, 1, 1),
        ("unsubscribe", 2, 2, 0),
    )
    rows[4] = rows[4]._replace(batch=1)
    assert [w.node for w in AUDITS["lost"](rows)] == [2]
    before = [rows[n] for n in (0, 1, 2, 3, 5, 4)]
    assert AUDITS["lost"]([row._replace(position=n) for n, row in enumerate(before)]) == []


def test_a_copy_that_is_held_is_not_excused_by_another_one_that_was_dropped() -> None:
    rows = by_hand(
        ("confirm", 2, 2, 0), ("publish", 1, 1, 1), ("receive", 2, 1, 1), ("receive", 2, 1, 1), ("skip", 2, 1, 1)
    )
    held = [row._replace(batch=1) if row.kind == "receive" else row for row in rows]
    assert [w.node for w in AUDITS["stuck"](held)] == [2]
    assert AUDITS["lost"](held) == []


def test_a_run_that_was_cut_short_owes_only_what_it_had_settled() -> None:
    rows = by_hand(("confirm", 1, 1, 0), ("confirm", 2, 2, 0), ("publish", 1, 1, 1), ("deliver", 1, 1, 1))
    assert [w.node for w in AUDITS["lost"](rows, True)] == [2]
    assert AUDITS["lost"](rows, False) == []


def test_a_failure_is_named_by_what_the_trace_shows() -> None:
    result = run(schedule(5, "vcube-printed", "causal"))
    witnesses = judge(result.trace, PROMISES["causal"])
    diagnosis = Diagnosis(result.trace.rows(), witnesses)
    names = {diagnosis.name(w) for found in witnesses.values() for w in found}
    assert names == {"V1", "V2", "V4", "V11"}


def test_time_is_not_what_the_audits_go_by() -> None:
    """Clocks may jump: positions within a log decide."""
    rows = [row._replace(at=1000 - row.at) for row in by_hand(("publish", 1, 1, 1), ("deliver", 1, 1, 1))]
    assert all(not AUDITS[name](rows) for name in ("creation", "duplicate", "fifo", "causal"))


def test_the_steps_of_a_broken_machine_are_those_of_a_sound_one_but_for_the_saboteur() -> None:
    now: Time = 0
    place = Place(0, 4)
    assert Broken(place).step(now, Receive(1, Pub(MessageId((1, 0), "t", 1), 0, ()))) == protocols.build(
        "vcube", "causal", place
    ).step(now, Receive(1, Pub(MessageId((1, 0), "t", 1), 0, ())))

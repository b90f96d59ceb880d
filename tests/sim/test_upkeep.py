"""Traces without what an overlay says to keep itself up."""

from __future__ import annotations

import pytest
from comings import comings

from trellis.audit import AUDITS, judge
from trellis.metrics.hits import hits
from trellis.metrics.latency import latencies
from trellis.metrics.reach import parasites, reach
from trellis.metrics.traffic import sent
from trellis.sim import run
from trellis.trace.rows import Row


def serves_a_message(row: Row) -> bool:
    """Of those that are numbered 0 only refills carry messages, each of another number."""
    return row.kind not in ("send", "receive") or row.seq != 0 or row.packet == "REFILL"


@pytest.mark.parametrize("seed", [1, 2])
def test_only_packets_that_serve_no_message_leave_no_rows(seed: int) -> None:
    whole, terse = run(comings(seed, upkeep=True)), run(comings(seed, upkeep=False))
    kept = [row for row in whole.trace.rows() if serves_a_message(row)]
    assert [row[1:] for row in terse.trace.rows()] == [row[1:] for row in kept]
    assert len(terse.trace) < len(whole.trace) / 5
    assert terse.events == whole.events
    assert terse.quiet == whole.quiet


def test_audits_and_measures_of_messages_see_no_difference() -> None:
    whole, terse = run(comings(3)), run(comings(3, upkeep=False))
    for measure in (hits, reach, parasites):
        assert measure(terse.trace) == measure(whole.trace)
    assert latencies(terse.trace).delivery.tolist() == latencies(whole.trace).delivery.tolist()
    assert judge(terse.trace, tuple(AUDITS), quiet=True) == judge(whole.trace, tuple(AUDITS), quiet=True)
    assert sent(terse.trace).items() <= sent(whole.trace).items()
    assert hits(terse.trace).owed > 100


def test_rows_of_upkeep_are_there_unless_they_are_declined() -> None:
    assert run(comings(4)).trace.digest() == run(comings(4, upkeep=True)).trace.digest()
    assert "upkeep" not in comings(4).to_json().decode(), "what scenarios were called before they are called still"

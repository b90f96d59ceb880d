"""The demo's discussion, smaller: replies follow what they answer, a node is killed, figures come from the traces."""

from __future__ import annotations

import asyncio
from pathlib import Path

from trellis.audit.verdict import verdict_on
from trellis.live.cluster import Cluster
from trellis.live.collect import collect_cluster
from trellis.live.discussion import Participant, discuss, thread
from trellis.metrics.standstill import standstill
from trellis.report.live import live_figures, live_page
from trellis.trace import store
from trellis.trace.rows import Row
from trellis.trace.table import trace_of


def test_a_discussion_survives_a_kill_and_its_audit_is_clean(tmp_path: Path) -> None:
    with Cluster.create(tmp_path, nodes=4) as cluster:
        cluster.up()
        people: list[Participant] = asyncio.run(discuss(cluster, seconds=1.5, killed=2))
        dead = cluster.nodes[2].place
    assert [one.lost for one in people] == [False, False, True, False]
    heard = people[0].heard
    order = list(heard)
    replies = [(remark, said.to) for remark, said in heard.items() if said.to is not None]
    assert replies
    assert all(order.index(to) < order.index(remark) for remark, to in replies)
    line = thread(heard, 2)
    assert len(line) == 2
    assert [said.to for _, said in line[1:]] == [remark for remark, _ in line[:-1]]
    run = collect_cluster(tmp_path)
    verdict = verdict_on(run, every=False)
    assert not verdict.broken
    trace, _ = store.read(run)
    found = live_figures(trace)
    assert found.deliveries == verdict.deliveries > found.published
    assert 0 < found.latency_p50_us <= found.latency_p99_us
    assert list(found.standstill_us) == [dead]
    page = live_page("a discussion", trace, found, verdict)
    assert f"node {dead} died" in page
    assert "src=" not in page


def test_a_standstill_is_the_longest_wait_of_the_survivor_that_was_worst_off() -> None:
    def row(at: int, node: int, kind: str) -> Row:
        return Row(at, at, node, kind, "t", 0, 0, 1, "", -1, 0, 0, 0)

    told = [(5, 1, "deliver"), (10, 0, "crash"), (12, 1, "deliver"), (15, 2, "deliver"), (20, 1, "deliver")]
    assert standstill(trace_of([row(*one) for one in told])) == {0: 8}
    assert standstill(trace_of([row(*one) for one in (*told, (40, 2, "deliver"))])) == {0: 25}
    assert standstill(trace_of([row(*one) for one in told if one[2] != "crash"])) == {}

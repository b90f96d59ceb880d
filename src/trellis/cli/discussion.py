"""The live part of `trellis demo`: a cluster holds a discussion, one of its nodes is killed, the traces are audited."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.markup import escape

from trellis.cli.command import err, out, progress

NODES = 16
SECONDS = 10.0
KILLED = 5  # which of them dies in the middle


def check(directory: Path) -> None:
    """Whether a cluster may stand there: before anything is run. One of an earlier demonstration goes."""
    from trellis.live.cluster import FILE, check_free

    if not (directory / FILE).is_file():
        check_free(directory)


def hold(directory: Path, on_spark: bool, first: int = 1, nodes: int = NODES, seconds: float = SECONDS) -> bool:
    """Whether every promise was kept. `first` numbers what is printed."""
    import asyncio

    from trellis.live.cluster import FILE, Cluster
    from trellis.live.discussion import discuss, thread

    check(directory)
    if (directory / FILE).is_file():  # an earlier demonstration's
        Cluster.open(directory).down()
        shutil.rmtree(directory)
    killed = min(KILLED, nodes - 1)
    with Cluster.create(directory, nodes) as cluster:
        out.print(f"[bold]{first}. Live[/]: {nodes} processes on this machine, every link over mTLS")
        with progress("starting", nodes) as bar:
            cluster.up(lambda done: bar(done, f"{done} of {nodes}"))
        victim = cluster.nodes[killed]
        with err.status(f"they talk for {seconds:g} s; {victim.name} is killed in the middle"):
            people = asyncio.run(discuss(cluster, seconds, killed))
        out.print(f"   {victim.name}, on place {victim.place}, was killed by kill -9 in the middle; the others went on")
        for (source, _, seq), said in thread(people[0].heard, 3):
            out.print(f"   {source}:{seq}  {said.by}: {said.text}", markup=False)
        with err.status("stopping"):
            late = cluster.down()
        if not late:  # all that live had their last words confirmed, and ended in good order
            cluster.come_to_rest()
    for node in late:
        out.print(f"   {node.name} did not end in time and was killed", markup=False)
    return judge(directory, on_spark, first + 1, f"a discussion among {nodes} processes") and not late


def judge(directory: Path, on_spark: bool, number: int, title: str) -> bool:
    from trellis.audit.verdict import verdict_on
    from trellis.live.collect import collect_cluster
    from trellis.report.live import live_figures, live_page
    from trellis.trace import store

    with err.status("collecting the traces of the nodes"):
        run = collect_cluster(directory)
    with err.status("auditing"):
        if on_spark:
            from trellis.pipeline.audit.runs import verdicts_on

            (verdict,) = verdicts_on(run, every=False, shown_max=1, master=None)
        else:
            verdict = verdict_on(run, every=False)
    trace, _ = store.read(run)
    found = live_figures(trace)
    judged = "all promises kept" if not verdict.broken else f"BROKEN: {', '.join(verdict.broken)}"
    out.print(
        f"[bold]{number}. Audit[/]{' on Spark' if on_spark else ''} of the {verdict.about['lives']} traces: "
        f"{found.published:,} messages, {found.deliveries:,} deliveries, {verdict.pairs_checked:,} owed: {judged}"
    )
    out.print(
        f"   {found.rate:,.0f} deliveries a second; to delivery {found.latency_p50_us / 1000:.1f} ms (median), "
        f"{found.latency_p99_us / 1000:.1f} ms (99 of 100)"
    )
    for name in verdict.not_judged:
        out.print(f"   not judged: {name}")
    for dead, time in found.standstill_us.items():
        out.print(f"   after node {dead} had died, no survivor waited longer than {time / 1000:.0f} ms for a delivery")
    target = run / store.PAGE
    target.write_text(live_page(title, trace, found, verdict), encoding="utf-8")
    out.print(f"   open {escape(str(target))} in a browser; go on with: trellis audit {escape(str(directory))} --spark")
    return not verdict.broken

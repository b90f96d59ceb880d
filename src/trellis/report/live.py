"""What a cluster did, from its traces: figures, and a page. Times are microseconds of the nodes' own clocks."""

from __future__ import annotations

from html import escape
from typing import NamedTuple

import numpy as np

from trellis.audit import SAYS
from trellis.audit.verdict import Verdict
from trellis.metrics.latency import latencies
from trellis.metrics.standstill import standstill
from trellis.report.style import framed, tiles
from trellis.report.svg import draw_histogram
from trellis.trace.rows import DELIVERIES
from trellis.trace.table import Numbers, Trace
from trellis.words import NodeId, Time

SLICES = 100  # of the run, in the drawing of deliveries over time
STYLE = """
.bars rect { fill: var(--leaf); } .bars g:hover rect { fill: var(--root); }
.death line { stroke: var(--bad); stroke-width: 2; } .death text { fill: var(--bad); }
"""


class Figures(NamedTuple):
    """Of one live run."""

    published: int
    deliveries: int
    seconds: float  # from the first publication to the last delivery
    latency_p50_us: float
    latency_p99_us: float
    latency_us: Numbers  # of every delivery to another than the publisher
    standstill_us: dict[NodeId, Time]  # of who was killed

    @property
    def rate(self) -> float:
        """Deliveries a second."""
        return self.deliveries / self.seconds if self.seconds else 0.0


def live_figures(trace: Trace) -> Figures:
    published, delivered = trace.of_kind("publish"), trace.of_kind(*DELIVERIES)
    heard = latencies(trace).delivery
    p50, p99 = np.percentile(heard, [50, 99]).tolist() if len(heard) else (0.0, 0.0)
    span = int(delivered.numbers("at").max()) - int(published.numbers("at").min()) if len(delivered) else 0
    return Figures(len(published), len(delivered), span / 1e6, p50, p99, heard, standstill(trace))


def live_page(title: str, trace: Trace, found: Figures, verdict: Verdict) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(SAYS[name])}</td>"
        f"<td class='{'broken' if count else 'kept'}'>{f'{count} violations' if count else 'kept'}</td></tr>"
        for name, count in verdict.violations.items()
    )
    shown = [
        (f"{verdict.about['nodes']}", "nodes"),
        (f"{found.published:,}", "messages published"),
        (f"{found.deliveries:,}", "deliveries"),
        (f"{found.rate:,.0f}/s", "deliveries a second"),
        (f"{found.latency_p50_us / 1000:.1f} ms", "to delivery, median"),
        (f"{found.latency_p99_us / 1000:.1f} ms", "to delivery, 99 of 100"),
        *(
            (f"{time / 1000:.0f} ms", f"longest pause after node {dead} died")
            for dead, time in found.standstill_us.items()
        ),
    ]
    usual = found.latency_us[found.latency_us <= found.latency_p99_us].astype(np.int64)
    rows += "".join(f"<tr><td><code>{name}</code></td><td>not judged</td></tr>" for name in verdict.not_judged)
    body = f"""<h1>{escape(title)}</h1>
<p>Processes on one machine, from the traces that they wrote; digest <code>{verdict.about["digest"][:16]}</code>.</p>
{tiles(shown)}
<h2>Promises</h2><div class="card"><table>{rows}</table></div>
<h2>Deliveries over time</h2><p>Of all nodes together. A red line is a node that was killed.</p>
<div class="card">{draw_over_time(trace)}</div>
<h2>Time to delivery</h2><p>To all subscribers but the publisher itself; the slowest hundredth is left out.</p>
<div class="card">{draw_histogram(usual, "microseconds")}</div>"""
    return framed(title, STYLE, body)


def draw_over_time(trace: Trace, width: int = 1080, height: int = 260) -> str:
    """How many deliveries fall into each slice of the run, and when nodes died."""
    at = trace.of_kind(*DELIVERIES).numbers("at")
    if len(at) == 0:
        return "<p>nothing was delivered</p>"
    begin, end = int(at.min()), int(at.max())
    counts, edges = np.histogram(at, bins=SLICES, range=(begin, max(end, begin + SLICES)))
    left, bottom, top = 64, height - 30, 16
    column, scale = (width - left - 12) / SLICES, (bottom - top) / max(1, int(counts.max()))
    bars = "".join(
        f"<g><title>{(edge - begin) / 1e6:.2f} s: {count} deliveries</title>"
        f'<rect x="{left + n * column:.1f}" y="{bottom - count * scale:.1f}" width="{column - 1:.1f}" '
        f'height="{count * scale:.1f}"/></g>'
        for n, (count, edge) in enumerate(zip(counts.tolist(), edges.tolist(), strict=False))
    )
    per_us = SLICES * column / (edges[-1] - begin)
    deaths = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}"/><text x="{x:.1f}" y="12">node {row.node}</text>'
        for row in trace.of_kind("crash").rows()
        for x in [left + (row.at - begin) * per_us]
    )
    ticks = "".join(
        f'<text x="{left + n * column:.1f}" y="{bottom + 18}">{(edges[n] - begin) / 1e6:.1f} s</text>'
        for n in range(0, SLICES, SLICES // 10)
    )
    label = f'<text class="y" x="{left - 8}" y="{top + 4}">{int(counts.max())}</text>'
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="deliveries over time">'
        f'<g class="bars">{bars}</g><g class="death">{deaths}</g><g class="ticks">{ticks}</g>{label}</svg>'
    )

"""One page about one run: figures, verdict, a tree, a histogram and a story. It loads nothing from anywhere."""

from __future__ import annotations

from html import escape
from typing import Any

from trellis.audit import SAYS
from trellis.metrics.latency import latencies
from trellis.report.style import framed, tiles
from trellis.report.svg import draw_histogram, draw_tree, tree_of
from trellis.sim import Run
from trellis.trace.rows import DELIVERIES
from trellis.trace.story import story, tell
from trellis.words import MessageId

STYLE = """
svg { min-width: 860px; }
.edges path { fill: none; stroke: var(--line); stroke-width: 1.5; }
.node circle { fill: var(--leaf); } .root circle { fill: var(--root); }
.node text, .root text { fill: #fff; font-size: 10px; }
.bars rect { fill: var(--leaf); } .bars g:hover rect, .node:hover circle { fill: var(--root); }
"""


def page(run: Run, found: dict[str, Any], tree_id: MessageId, story_id: MessageId) -> str:
    """`found` is what `figures` says of the run."""
    rows = list(run.trace.rows())
    spread = list(story(rows, tree_id))
    told = list(story(rows, story_id))
    heard = latencies(run.trace)
    scenario = run.scenario
    tree = tree_of(spread, tree_id)
    follows = next((row.barrier for row in told if row.kind == "spread"), 0)
    relation = (
        f"It names {follows} direct predecessors: nobody delivers it before them. Node {story_id.source} published it, "
        f"{len({row.node for row in told if row.kind in DELIVERIES})} nodes delivered it."
    )
    verdict = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(SAYS[name])}</td>"
        f"<td class='{'broken' if count else 'kept'}'>{f'{count} violations' if count else 'kept'}</td></tr>"
        for name, count in found["violations"].items()
    )
    latency = found["delivery_latency"]
    shown = [
        (f"{scenario.nodes.count}", "nodes"),
        (f"{found['published']:,}", "messages published"),
        (f"{found['deliveries']:,}", "deliveries"),
        (f"{latency['mean']:.0f} u.t." if latency["count"] else "-", "mean time to delivery"),
        (f"{sum(found['sent'].values()):,}", "packets sent"),
        (f"{found['queue']['max']}", "longest outgoing queue"),
    ]
    body = f"""<h1>{escape(scenario.name)}</h1>
<p>{escape(scenario.stack.ordering)} order over <code>{escape(scenario.stack.overlay)}</code>, seed {scenario.seed},
digest <code>{found["digest"][:16]}</code>. The same scenario and seed give the same digest on any machine.</p>
{tiles(shown)}
<h2>Promises</h2><div class="card"><table>{verdict}</table></div>
<h2>How {escape(str(tree_id))} reached {len(tree.received) - 1} nodes</h2>
<p>The tree is rooted at its publisher, node {tree.root}. Point at a node to see when it had the message.</p>
<div class="card">{draw_tree(tree)}</div>
<h2>Time to delivery</h2>
<p>Over all messages and all subscribers but the publisher itself.</p>
<div class="card">{draw_histogram(heard.delivery, "u.t.")}</div>
<h2>The story of {escape(str(story_id))}</h2>
<p>{escape(relation)}</p>
<details class="card"><summary>All {len(told)} things that happened to this message</summary>
<pre>{escape(chr(10).join(tell(row) for row in told))}</pre></details>"""
    return framed(scenario.name, STYLE, body)

"""Drawings as SVG text: a dissemination tree and a histogram. No library, nothing loaded from the net."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from trellis.trace.rows import Row
from trellis.trace.table import Numbers
from trellis.words import MessageId, NodeId, Time


class Tree(NamedTuple):
    """How one message spread: who had it from whom, and when."""

    root: NodeId
    children: dict[NodeId, list[NodeId]]
    received: dict[NodeId, Time]  # after publication


def tree_of(rows: Sequence[Row], id: MessageId) -> Tree:
    """The tree of one message, from the rows of its story."""
    published = next((row.at for row in rows if row.kind == "publish" and row.seq == id.seq), 0)
    children: dict[NodeId, list[NodeId]] = {}
    received: dict[NodeId, Time] = {id.source: 0}
    for row in rows:
        if row.kind == "receive" and row.packet in ("PUB", "ROOT") and row.node not in received:
            received[row.node] = row.at - published
            children.setdefault(row.peer, []).append(row.node)
    return Tree(id.source, children, received)


def draw_tree(tree: Tree, width: int = 1080, row: int = 92) -> str:
    """Top down; a leaf takes one column, a node stands over the middle of its children."""
    places: dict[NodeId, tuple[float, int]] = {}
    leaves = 0

    def place(node: NodeId, depth: int) -> float:
        nonlocal leaves
        below = [place(child, depth + 1) for child in tree.children.get(node, [])]
        if below:
            x = sum(below) / len(below)
        else:
            x = float(leaves)
            leaves += 1
        places[node] = (x, depth)
        return x

    place(tree.root, 0)
    depth_max = max(depth for _, depth in places.values())
    step = (width - 40) / max(1, leaves - 1)
    at = {node: (20 + x * step, 24 + depth * row) for node, (x, depth) in places.items()}
    edges, dots = [], []
    for parent, below in tree.children.items():
        for child in below:
            (x1, y1), (x2, y2) = at[parent], at[child]
            middle = (y1 + y2) / 2
            edges.append(f'<path d="M{x1:.1f} {y1} C{x1:.1f} {middle} {x2:.1f} {middle} {x2:.1f} {y2}"/>')
    radius = min(11.0, max(5.0, step * 0.46))
    for node, (x, y) in at.items():
        kind = "root" if node == tree.root else "node"
        label = f'<text x="{x:.1f}" y="{y + 3.5:.1f}">{node}</text>' if radius > 7 else ""
        about = f"node {node}: " + ("published it" if kind == "root" else f"received after {tree.received[node]} u.t.")
        circle = f'<circle cx="{x:.1f}" cy="{y}" r="{radius:.1f}"/>'
        dots.append(f'<g class="{kind}"><title>{about}</title>{circle}{label}</g>')
    height = 48 + depth_max * row
    body = f'<g class="edges">{"".join(edges)}</g>{"".join(dots)}'
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="dissemination tree">{body}</svg>'


def draw_histogram(values: Numbers, unit: str, bins: int = 30, width: int = 1080, height: int = 300) -> str:
    """How many values fall into each of the bins."""
    if len(values) == 0:
        return "<p>nothing was delivered</p>"
    low, high = int(values.min()), int(values.max())
    span = max(1, -(-(high - low + 1) // bins))
    counts = [0] * ((high - low) // span + 1)
    for value in values.tolist():
        counts[(value - low) // span] += 1
    left, bottom, top = 64, height - 44, 12
    column = (width - left - 12) / len(counts)
    scale = (bottom - top) / max(counts)
    bars = []
    for n, count in enumerate(counts):
        x, tall = left + n * column, count * scale
        about = f"{low + n * span} to {low + (n + 1) * span - 1} {escape(unit)}: {count}"
        rect = f'<rect x="{x:.1f}" y="{bottom - tall:.1f}" width="{max(1.0, column - 2):.1f}" height="{tall:.1f}"/>'
        bars.append(f"<g><title>{about}</title>{rect}</g>")
    every = max(1, len(counts) // 8)
    ticks = "".join(
        f'<text x="{left + n * column:.1f}" y="{bottom + 18}">{low + n * span}</text>'
        for n in range(0, len(counts), every)
    )
    lines = "".join(
        f'<line x1="{left}" x2="{width - 12}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="y" x="{left - 8}" y="{y + 4:.1f}">{round(max(counts) * part)}</text>'
        for part in (0.25, 0.5, 0.75, 1.0)
        for y in [bottom - (bottom - top) * part]
    )
    caption = f"{escape(unit)} from publication to delivery"
    axis = f'<text class="axis" x="{(left + width) / 2}" y="{height - 6}">{caption}</text>'
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="latency histogram">'
        f'<g class="grid">{lines}</g><g class="bars">{"".join(bars)}</g><g class="ticks">{ticks}</g>{axis}</svg>'
    )

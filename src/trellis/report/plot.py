"""Charts with axes as SVG text: lines and grouped bars, with what was published beside what we measured.

Promises: every point can be read by pointing at it; published points are hollow, measured ones filled and with the 95%
          confidence interval over their runs; pointing at a name in the legend leaves only its series.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any, NamedTuple

from trellis.experiments.chart import Chart, Series
from trellis.metrics.summary import Interval

NARROW, WIDE, HEIGHT = 580, 1080, 330
MANY = 24  # bars that need the wide form; fewer have their numbers over them
LEFT, RIGHT, TOP, BOTTOM = 66, 16, 16, 58
COLORS = 8

LIGHT = ("#2f8553", "#6db58a", "#c2571a", "#e2a06e", "#17502f", "#a9cfae", "#7c3309", "#ecc7a4")
DARK = ("#62bd85", "#a4dcb9", "#f0935a", "#f6c6a2", "#2f8f58", "#d3ecd9", "#c8672c", "#fbe3cf")

STYLE = (
    ":root { " + " ".join(f"--c{n}: {color};" for n, color in enumerate(LIGHT)) + " }\n"
    "@media (prefers-color-scheme: dark) { :root { "
    + " ".join(f"--c{n}: {color};" for n, color in enumerate(DARK))
    + " } }\n"
    + "\n".join(f".c{n} {{ --c: var(--c{n}); }}" for n in range(COLORS))
    + """
.plot { margin: 0; } @media (max-width: 640px) { .plot svg { min-width: 540px; } .wide .plot svg { min-width: 900px; } }
.plot figcaption { font-weight: 600; margin-bottom: 6px; }
.plot svg .label { font-size: 11px; } .plot svg .vertical { text-anchor: middle; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 8px 0 0; padding: 0; list-style: none;
  font-size: 13px; }
.legend li { cursor: default; display: flex; align-items: center; gap: 7px; }
.legend i { width: 12px; height: 12px; border-radius: 3px; background: var(--c); border: 2px solid var(--c);
  box-sizing: border-box; }
.legend .theirs i { background: none; border-style: dashed; }
.series path { fill: none; stroke: var(--c); stroke-width: 2; }
.series .mark { fill: var(--c); stroke: var(--c); stroke-width: 2; }
.series .error { stroke: var(--c); stroke-width: 1.5; opacity: .8; }
.theirs .mark { fill: var(--card); stroke-dasharray: 3 2; } .odd path { stroke-dasharray: 6 4; }
.series g:hover .mark { stroke: var(--ink); } .series { transition: opacity .15s; }
"""
    + "\n".join(f".plot:has(.legend .n{n}:hover) .series:not(.n{n}) {{ opacity: .12; }}" for n in range(2 * COLORS))
)


class Axis(NamedTuple):
    """From values to places."""

    low: float
    high: float
    start: float  # the place of `low`
    end: float
    log: bool

    def at(self, value: float) -> float:
        low, high, here = (math.log(v) if self.log else v for v in (self.low, self.high, max(value, self.smallest())))
        return self.start + (here - low) / ((high - low) or 1) * (self.end - self.start)

    def smallest(self) -> float:
        return self.low if self.log else -math.inf


def draw(chart: Chart) -> str:
    """A figure with its caption, its legend and its note."""
    filled = [series for series in chart.series if series.points]
    title = escape(chart.title)
    if all(series.published for series in filled):
        return f'<figure class="plot"><figcaption>{title}</figcaption><p>Not run at this scale.</p></figure>'
    width = WIDE if is_wide(chart) else NARROW
    picture = lines(chart, filled, width) if chart.kind == "lines" else bars(chart, filled, width)
    note = f'<p class="soft">{escape(chart.note)}</p>' if chart.note else ""
    return (
        f'<figure class="plot"><figcaption>{title}</figcaption><svg viewBox="0 0 {width} {HEIGHT}" role="img" '
        f'aria-label="{title}">{picture}</svg>{legend(filled)}{note}</figure>'
    )


def is_wide(chart: Chart) -> bool:
    """Many bars take a whole row of the page."""
    return chart.kind == "bars" and sum(len(series.points) for series in chart.series) > MANY


def legend(series: list[Series]) -> str:
    items = "".join(f'<li class="{marks(n, s)}"><i></i>{escape(s.name)}</li>' for n, s in enumerate(series))
    return f'<ul class="legend">{items}</ul>'


def marks(number: int, series: Series) -> str:
    theirs = " theirs" if series.published else ""
    return f"n{number} c{series.color % COLORS}{' odd' if series.color % 2 else ''}{theirs}"


def lines(chart: Chart, series: list[Series], width: int) -> str:
    xs = sorted({x for one in series for x in one.points})
    margin = 0.05 * (width - LEFT - RIGHT)
    across = Axis(xs[0], xs[-1], LEFT + margin, width - RIGHT - margin, chart.log_x)
    up, steps = scale(chart, series)
    body = rules(up, steps, chart, width)
    body += "".join(f'<text x="{across.at(x):.1f}" y="{HEIGHT - BOTTOM + 18}">{told(x)}</text>' for x in xs)
    for number, one in enumerate(series):
        places = [(across.at(x), up.at(found.mean)) for x, found in one.points.items()]
        body += f'<g class="series {marks(number, one)}">'
        if not one.published:
            body += f'<path d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in places)}"/>'
        for (x, y), (value, found) in zip(places, one.points.items(), strict=True):
            about = f"{one.name}: {told(found.mean)} at {told(value)}{sure(found)}"
            body += f"<g><title>{escape(about)}</title>{error(x, found, up)}{mark(x, y, one)}</g>"
        body += "</g>"
    return body


def mark(x: float, y: float, series: Series) -> str:
    """A circle, or a square for every other series; published ones are larger, to be seen around ours."""
    r = 7 if series.published else 3.5
    if series.color % 2:
        return f'<rect class="mark" x="{x - r:.1f}" y="{y - r:.1f}" width="{2 * r}" height="{2 * r}"/>'
    return f'<circle class="mark" cx="{x:.1f}" cy="{y:.1f}" r="{r}"/>'


def bars(chart: Chart, series: list[Series], width: int) -> str:
    names = list(dict.fromkeys(name for one in series for name in one.points))
    up, steps = scale(chart, series)
    group = (width - LEFT - RIGHT) / len(names)
    wide = min(46.0, 0.84 * group / len(series))
    body = rules(up, steps, chart, width)
    need = 7 * max(len(str(name)) for name in names) + 10  # pixels of a name
    rows = 1 if need <= group else 2  # names that do not fit side by side take turns in two rows
    every = max(1, math.ceil(need / (rows * group)))
    for n, name in enumerate(names):
        if n % every == 0:
            y = HEIGHT - BOTTOM + (18 if n // every % rows == 0 else 31)
            body += f'<text x="{LEFT + (n + 0.5) * group:.1f}" y="{y}">{escape(str(name))}</text>'
    longest = max(len(told(found.mean)) for one in series for found in one.points.values())
    labelled = wide >= 6.4 * longest and width == NARROW
    for number, one in enumerate(series):
        body += f'<g class="series {marks(number, one)}">'
        for name, found in one.points.items():
            x = LEFT + (names.index(name) + 0.5) * group + (number - len(series) / 2) * wide
            top = up.at(found.mean)
            about = f"{one.name}, {name}: {told(found.mean)}{sure(found)}"
            size = f'width="{max(1.0, wide - 3):.1f}" height="{max(0.5, up.start - top):.1f}"'
            label = f'<text class="label" x="{x + wide / 2:.1f}" y="{top - 5:.1f}">{told(found.mean)}</text>'
            body += f'<g><title>{escape(about)}</title><rect class="mark" x="{x + 1.5:.1f}" y="{top:.1f}" {size}/>'
            body += error(x + wide / 2, found, up)
            body += f"{label if labelled else ''}</g>"
        body += "</g>"
    return body


def error(x: float, found: Interval, up: Axis) -> str:
    """The confidence interval, where it is more than a point."""
    if found.half is None:
        return ""
    low, high = up.at(max(up.low, found.mean - found.half)), up.at(found.mean + found.half)
    if abs(low - high) < 2:
        return ""
    caps = "".join(
        f'<line class="error" x1="{x - 4:.1f}" x2="{x + 4:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>' for y in (low, high)
    )
    return f'<line class="error" x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>{caps}'


def scale(chart: Chart, series: list[Series]) -> tuple[Axis, list[float]]:
    """The vertical axis, with its ticks."""
    values = [found.mean + (found.half or 0) for one in series for found in one.points.values()]
    if chart.log_y:
        lowest = min(found.mean for one in series for found in one.points.values())
        ticks = log_ticks(max(lowest, 1e-9), max(*values, lowest * 1.01))
    else:
        ticks = even_ticks(max([*values, 1e-9]) * 1.06)
    return Axis(ticks[0], ticks[-1], HEIGHT - BOTTOM, TOP, chart.log_y), ticks


def even_ticks(high: float) -> list[float]:
    """From 0 in four to eight even steps."""
    size = 10 ** math.floor(math.log10(high / 4))
    step = next(size * m for m in (1, 2, 5, 10) if high / (size * m) <= 8)
    return [step * n for n in range(math.ceil(high / step) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... around the values; only powers of ten where that is too many."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    fine = [m * 10.0**e for e in range(first, last + 1) for m in (1, 2, 5)]
    inside = [tick for tick in fine if tick > low / 2.5 and tick < high * 2.5]
    below = max((t for t in inside if t <= low), default=inside[0])
    over = min((t for t in inside if t >= high), default=inside[-1])
    kept = [tick for tick in inside if below <= tick <= over]
    return kept if len(kept) <= 9 else [10.0**e for e in range(first, last + 1)]


def rules(up: Axis, steps: list[float], chart: Chart, width: int) -> str:
    """Grid lines, their numbers, and what the axes count."""
    across = "".join(
        f'<line x1="{LEFT}" x2="{width - RIGHT}" y1="{up.at(step):.1f}" y2="{up.at(step):.1f}"/>'
        f'<text class="y" x="{LEFT - 8}" y="{up.at(step) + 4:.1f}">{told(step)}</text>'
        for step in steps
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return (
        f'<g class="grid">{across}</g><text x="{(LEFT + width) / 2}" y="{HEIGHT - 8}">{escape(chart.x)}</text>'
        f'<text class="vertical" x="14" y="{middle}" transform="rotate(-90 14 {middle})">{escape(chart.y)}</text>'
    )


def sure(found: Interval) -> str:
    if not found.count:
        return " (published)"
    runs = "1 run" if found.count == 1 else f"{found.count} runs"
    return f" ({runs})" if found.half is None else f" ± {told(found.half)} ({runs})"


def told(value: Any) -> str:
    """A number as people write it: no more digits than tell something."""
    if not isinstance(value, int | float):
        return str(value)
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    digits = 1 if size >= 100 else 2 if size >= 1 else 3
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

"""A paper's figures beside ours, as one page and as `claims.json`. The page loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import msgspec

from trellis.experiments import Outcome, Scale, Verdict
from trellis.experiments.chart import Chart, Series
from trellis.experiments.experiment import Took
from trellis.report.plot import STYLE as PLOTS
from trellis.report.plot import draw, is_wide, told
from trellis.report.style import framed, tiles

STYLE = """
h2 { margin-top: 48px; font-size: 21px; } h2 a, .claims a { color: inherit; text-decoration-color: var(--line); }
h3 { font-size: 15px; margin: 20px 0 6px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 14px;
  margin: 12px 0; }
.charts .wide { grid-column: 1 / -1; } .charts > :only-child:not(.wide) { max-width: 640px; }
.claims { width: 100%; font-size: 14px; } .claims td, .claims th { vertical-align: top; padding: 5px 14px 5px 0; }
.claims td { border-top: 1px solid var(--line); }
.claims .figure td { font-weight: 600; padding-top: 14px; border-top: 0; }
.claims .n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.claims .verdict { white-space: nowrap; }
.claims .reason td { color: var(--soft); font-size: 13px; border-top: 0; padding-top: 0; max-width: 60em; }
@media (max-width: 640px) { .claims .off { display: none; } .claims { font-size: 13px; }
  .claims td, .claims th { padding-right: 8px; } .claims .n { white-space: normal; } }
.unrun { color: var(--soft); } .numbers { font-size: 13px; margin-top: 8px; }
.numbers td, .numbers th { white-space: nowrap; }
.numbers i { color: var(--soft); } details { margin-top: 10px; }
""" + PLOTS  # fmt: skip


class Tally(msgspec.Struct, frozen=True):
    """How the claims went. What was not run is not held."""

    claims: int
    held: int
    not_held: int
    not_run: int  # among those not held
    by_fit: int  # among those held: no evidence


def tally(verdicts: Sequence[Verdict]) -> Tally:
    held = sum(v.held for v in verdicts)
    not_run, by_fit = sum(v.measured is None for v in verdicts), sum(v.held and v.by_fit for v in verdicts)
    return Tally(len(verdicts), held, len(verdicts) - held, not_run, by_fit)


def claims_json(paper: str, scale: Scale, outcomes: Sequence[Outcome]) -> bytes:
    """Everything that was judged. No clock: the same runs write the same bytes."""
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    told = {"paper": paper, "scale": scale, "tally": tally(verdicts), "claims": verdicts}
    return msgspec.json.format(msgspec.json.encode(told)) + b"\n"


def reproduction(paper: str, scale: Scale, outcomes: Sequence[Outcome]) -> str:
    counts = tally([verdict for outcome in outcomes for verdict in outcome.verdicts])
    packets = {run: sent for outcome in outcomes for run, sent in outcome.packets.items()}
    shown = [
        (f"{counts.held} of {counts.claims}", f"published figures held, {counts.by_fit} of them by fit"),
        (f"{counts.not_held - counts.not_run}", "not held"),
        (f"{counts.not_run}", f"not run at scale {scale}"),
        (f"{len(packets):,}", "runs"),
        (f"{sum(packets.values()):,}", "packets in them"),
    ]
    body = f"""<h1>{escape(paper)}: the published figures beside ours</h1>
<p>Scale <code>{escape(scale)}</code>. A published figure is held when ours is within 3% of it (of the
effect, where the figure without any effect would be as close; where a claim allows more, its verdict says so), or on
the right side of it where the paper says at most or at least. The rule was fixed before the runs. No setting is tuned;
where a reading of an unclear text was taken because it fits, that is said. Where the described model does not give a
published figure, the reason stands beside it. Hollow marks are the points that the papers print; their drawn curves
are not digitised.</p>
{tiles(shown)}
<h2>All claims</h2><div class="card">{overview(outcomes)}</div>
{"".join(section(outcome) for outcome in outcomes)}"""
    return framed(f"{paper}, reproduced", STYLE, body)


def overview(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        experiment, counts = outcome.experiment, tally(outcome.verdicts)
        link = f'<a href="#{experiment.id}">{escape(experiment.title)}</a>'
        share = f'<span class="soft">{counts.held} of {counts.claims} held{escape(spent(outcome.took))}</span>'
        rows.append(f'<tr class="figure"><td colspan="5">{link} {share}</td></tr>')
        rows += [f"<tr>{cells(verdict)}</tr>" for verdict in outcome.verdicts]
    return f'<table class="claims">{HEAD}{"".join(rows)}</table>'


COLUMNS = '<th>claim</th><th class="n">published</th><th class="n">ours</th><th class="n off">difference</th><th></th>'
HEAD = f"<tr>{COLUMNS}</tr>"


def cells(verdict: Verdict) -> str:
    sign = {"close": "", "at most": "≤ ", "at least": "≥ "}[verdict.rule]
    ours = "-" if verdict.measured is None else f"{told(verdict.measured)}{escape(verdict.unit)}"
    off = "" if verdict.difference is None or verdict.rule != "close" else f"{round(verdict.difference, 3) + 0.0:+.1%}"
    return (
        f'<td>{escape(verdict.claim)}</td><td class="n">{sign}{told(verdict.published)}{escape(verdict.unit)}</td>'
        f'<td class="n">{ours}</td><td class="n off">{off}</td><td class="verdict">{word(verdict)}</td>'
    )


def word(verdict: Verdict) -> str:
    if verdict.measured is None:
        return '<span class="unrun">○ not run</span>'
    if verdict.held and verdict.by_fit:
        return '<span class="soft" title="the reading was chosen because it gives the figure">● held, by fit</span>'
    return '<span class="kept">● held</span>' if verdict.held else '<span class="broken">✕ not held</span>'


def section(outcome: Outcome) -> str:
    experiment = outcome.experiment
    charts = "".join(
        f'<div class="card{" wide" if is_wide(chart) else ""}">{draw(chart)}{numbers(chart)}</div>'
        for chart in outcome.charts
    )
    rows, before = "", ""
    for verdict in outcome.verdicts:
        said, _, why = verdict.reason.partition(": ")
        reason = f"{said}: as above" if why and why == before else verdict.reason
        rows += (
            f'<tr>{cells(verdict)}</tr><tr class="reason"><td colspan="5">{escape(because(verdict, reason))}</td></tr>'
        )
        before = why
    return f"""
<h2 id="{escape(experiment.id)}">{escape(experiment.title)}</h2>
<p>{escape(experiment.source)}. {code(experiment.about)}
This scale: {escape(outcome.sizes)}, {sum(outcome.packets.values()):,} packets{escape(spent(outcome.took))}.</p>
<div class="charts">{charts}</div>
<div class="card"><table class="claims">{HEAD}{rows}</table></div>"""


def spent(took: Took) -> str:
    """How long its runs took, if there were any."""
    if not took.seconds:
        return ""
    shared = f", with what {took.figure} has too" if took.figure else ""
    return f"; runs of {duration(took.seconds)}{shared}"


def duration(seconds: float) -> str:
    """As people say it."""
    if seconds < 100:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def because(verdict: Verdict, reason: str) -> str:
    runs = "1 run" if verdict.runs == 1 else f"{verdict.runs} runs"
    between = f", 95% interval ± {told(verdict.interval)}" if verdict.interval is not None else ""
    return f"{reason.rstrip('.')}." + (f" ({runs}{between})" if verdict.runs else "")


def code(text: str) -> str:
    """What stands between back quotes is a name."""
    parts = [escape(part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts))


def numbers(chart: Chart) -> str:
    """The chart as a table."""
    filled = [series for series in chart.series if series.points]
    xs = list(dict.fromkeys(x for series in filled for x in series.points))
    if chart.kind == "lines":
        xs.sort()
    head = "".join(f"<th>{escape(series.name)}</th>" for series in filled)
    rows = "".join(
        f"<tr><td>{escape(told(x))}</td>{''.join(f'<td>{number(series, x)}</td>' for series in filled)}</tr>"
        for x in xs
    )
    table = f'<table class="numbers"><tr><th>{escape(chart.x)}</th>{head}</tr>{rows}</table>'
    return f"<details><summary>Numbers</summary>{table}</details>"


def number(series: Series, x: object) -> str:
    if x not in series.points:
        return ""
    found = series.points[x]
    if series.published:
        return f"<i>{told(found.mean)}</i>"
    return told(found.mean) + (f" ± {told(found.half)}" if found.half is not None else "")

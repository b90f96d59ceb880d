"""trellis demo: a discussion, its audit, the story of one reply, and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from trellis.cli.command import example, out

EPILOG = example("trellis demo --out out/demo")


def command(
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the run and its page go.")] = Path(
        "out/demo"
    ),
    seed: Annotated[int, typer.Option(help="Another seed, another discussion.", min=0, max=(1 << 63) - 1)] = 7,
) -> int:
    """Let 64 nodes hold a discussion in causal order, audit it, tell the story of one reply, and draw a page."""
    from trellis.audit import SAYS
    from trellis.report.demo import discussion, question_and_reply
    from trellis.report.figures import figures
    from trellis.report.page import page
    from trellis.sim import run
    from trellis.trace import store
    from trellis.trace.story import story, tell

    store.check(out_dir)
    out.print("[bold]1. Run[/]: 64 nodes, one question, 63 replies, causal order over vcube")
    result = run(discussion(seed))
    found = figures(result)
    latency = found["delivery_latency"]
    out.print(
        f"   {found['deliveries']:,} deliveries, mean {latency['mean']:.0f} u.t., "
        f"{sum(found['sent'].values()):,} packets"
    )
    store.write(out_dir, result.trace, result.about())
    out.print("[bold]2. Audit[/]: by what really happened before what, not by what the protocol believed")
    for name, count in found["violations"].items():
        out.print(f"   {'kept  ' if not count else f'BROKEN {count} times:'} {SAYS[name]}")
    question, reply = question_and_reply(result)
    told = [tell(row) for row in story(result.trace.rows(), reply)]
    out.print(f"[bold]3. Story[/] of {reply}, which follows the most others ({len(told)} rows; the first 12):")
    for line in told[:12]:
        out.print(f"   {line}")
    target = out_dir / store.PAGE
    target.write_text(page(result, found, question, reply), encoding="utf-8")
    out.print(f"[bold]4. Page[/]: open {escape(str(target))} in a browser")
    out.print(f"   go on with: trellis audit {out_dir}  |  trellis story {out_dir} {question}", markup=False)
    return 1 if any(found["violations"].values()) else 0

"""trellis page: a run as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import err, example, out

EPILOG = example("trellis page out/run", "trellis page out/run 3:1@t0")


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `trellis run --out` wrote.")],
    message: Annotated[
        str | None, typer.Argument(metavar="[MESSAGE]", help="Whose tree and story; else the first and the richest.")
    ] = None,
) -> int:
    """Draw a run as one page beside its trace: figures, verdict, a tree, a histogram and a story. It loads nothing."""
    from trellis.errors import TraceError
    from trellis.report.demo import question_and_reply
    from trellis.report.figures import figures
    from trellis.report.page import page
    from trellis.scenario import from_mapping
    from trellis.sim import Run
    from trellis.trace import store
    from trellis.trace.story import parse

    trace, about = store.read(directory)
    if len(trace.of_kind("spread")) == 0:
        raise TraceError(f"{directory}: nothing was published, so there is nothing to draw")
    if "scenario" not in about:
        raise TraceError(
            f"{directory}: a live run, which has no scenario to draw; see `trellis audit` and `trellis story`"
        )
    scenario = from_mapping(about["scenario"])
    past = Run(scenario, trace, about["engine"], about["events"], 0.0, about["quiet"])
    tree, story = question_and_reply(past)
    if message is not None:
        tree = story = parse(message, trace.words("topic")[1])
        if not any(
            (r.source, r.topic, r.seq) == (tree.source, tree.topic, tree.seq) for r in trace.of_kind("publish").rows()
        ):
            raise TraceError(f"message {message!r}: it was not published; see `trellis story --help`")
    target = directory / "index.html"
    with err.status("drawing"):
        target.write_text(page(past, figures(past), tree, story), encoding="utf-8")
    out.print(f"open {target} in a browser", markup=False)
    return 0

"""trellis story: all that happened to one message."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import example, out

EPILOG = example("trellis story out/run 3:1@t0")


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `trellis run --out` wrote.")],
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="SOURCE:NUMBER@TOPIC, as in 3:1@t0.")],
) -> int:
    """Tell all that happened to one message, in order."""
    from trellis.errors import TraceError
    from trellis.trace import store
    from trellis.trace.story import parse, story, tell

    trace, _ = store.read(directory)
    id = parse(message, trace.words("topic")[1])
    rows = list(story(trace.rows(), id))
    if not rows:
        published = sorted({f"{r.source}:{r.seq}@{r.topic}" for r in trace.of_kind("publish").rows()})
        some = ", ".join(published[:5]) or "none"
        raise TraceError(f"message {message!r}: nothing happened to it; {len(published)} were published, as {some}")
    for row in rows:
        out.print(tell(row), markup=False)
    return 0

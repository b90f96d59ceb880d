"""trellis audit: judge a trace by what its ordering promised."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trellis.cli.command import err, example, out, print_json

EPILOG = example("trellis audit out/run", "trellis audit out/run --json")
SHOWN_MAX = 10


def command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="What `trellis run --out` wrote.")],
    every: Annotated[bool, typer.Option("--all", help="Check every promise, also those that were not made.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print verdict and witnesses as one JSON object.")] = False,
) -> int:
    """Check every promise of the run's ordering and show a witness for each violation.

    Exit code 0: all promises kept. 1: violations. 2: the trace cannot be read.
    """
    from trellis.audit import AUDITS, PROMISES, SAYS, judge, pairs_checked
    from trellis.errors import TraceError
    from trellis.trace import store

    trace, about = store.read(directory)
    ordering = about["ordering"]
    if ordering not in PROMISES:
        raise TraceError(f"{directory}: run.json says ordering {ordering!r}; there are {', '.join(PROMISES)}")
    match about.get("scenario"):
        case {"stack": {"ordering": asked}} if asked != ordering:
            raise TraceError(f"{directory}: run.json says ordering {ordering!r}, but its scenario {asked!r}; run again")
    with err.status("auditing"):
        asked = tuple(AUDITS) if every else PROMISES[ordering]
        verdict = judge(trace, asked, quiet=about["quiet"])
        pairs = pairs_checked(trace, quiet=about["quiet"])
    not_judged = [name for name in asked if name not in verdict]
    broken = {name: witnesses for name, witnesses in verdict.items() if witnesses}
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "digest": about["digest"],
                "ordering": ordering,
                "deliveries": len(trace.of_kind("deliver")),
                "violations": {name: len(witnesses) for name, witnesses in verdict.items()},
                "not_judged": not_judged,
                "pairs_checked": pairs,
                "witnesses": [w.as_dict() for witnesses in broken.values() for w in witnesses],
            }
        )
        return 1 if broken else 0
    out.print(f"{len(trace.of_kind('deliver')):,} deliveries under {ordering!r}, digest {about['digest'][:16]}")
    for name, witnesses in verdict.items():
        state = "kept  " if not witnesses else f"[bold red]BROKEN[/] {len(witnesses)} times:"
        checked = f" ({pairs:,} pairs of message and subscriber)" if name == "lost" else ""
        out.print(f"  {name:<10} {state} {SAYS[name]}{checked}")
        for witness in witnesses[:SHOWN_MAX]:
            out.print(f"    t={witness.at}: {witness.says}", markup=False)
        if len(witnesses) > SHOWN_MAX:
            out.print(f"    ... and {len(witnesses) - SHOWN_MAX} more (--json shows all)")
    for name in not_judged:
        out.print(f"  {name:<10} not judged: the run was cut short by its end")
    if broken:
        first = next(iter(broken.values()))[0]
        out.print(f"read more with: trellis story {directory} {first.message}", markup=False)
    return 1 if broken else 0

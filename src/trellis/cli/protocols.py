"""trellis protocols: the registry, with what each entry promises."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from trellis.cli.command import example, out, print_json

EPILOG = example("trellis protocols")


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print the registry as one JSON object.")] = False,
) -> int:
    """List overlays and orderings: what each promises, where it comes from, what it takes."""
    from trellis.protocols import LAYERED, ORDERINGS, WHOLE

    overlays: list[dict[str, Any]] = [
        {"name": n, "promises": k.promise, "source": k.source, "options": dict(k.options), "orderings": fitting(n)}
        for n, k in LAYERED.items()
    ] + [
        {"name": n, "promises": k.promise, "source": k.source, "options": {}, "orderings": list(k.brings)}
        for n, k in WHOLE.items()
    ]
    orderings: list[dict[str, Any]] = [
        {"name": n, "promises": k.promise, "source": k.source} for n, k in ORDERINGS.items()
    ]
    if as_json:
        print_json({"overlays": overlays, "orderings": orderings})
        return 0
    table = Table("overlay", "promises", "orderings", "options (default)", title="Overlays", title_justify="left")
    for o in overlays:
        options = ", ".join(f"{k} ({v if v >= 0 else 'by size'})" for k, v in o["options"].items())
        table.add_row(o["name"], f"{o['promises']}\n[dim]{o['source']}[/]", ", ".join(o["orderings"]), options)
    out.print(table)
    table = Table("ordering", "promises", title="Orderings", title_justify="left")
    for o in orderings:
        table.add_row(o["name"], f"{o['promises']}\n[dim]{o['source']}[/]")
    out.print(table)
    return 0


def fitting(overlay: str) -> list[str]:
    from trellis.protocols import LAYERED, ORDERINGS

    return [name for name, ordering in ORDERINGS.items() if ordering.needs <= LAYERED[overlay].gives]

"""trellis ingest: a public trace in, clean tables out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from trellis.cli.command import err, example, out, print_json

EPILOG = example(
    "trellis ingest follows follows.tsv.gz --out out/follows --sample 1000",
    "trellis ingest avt SKYPE.avt.gz --out out/skype --merge-gaps 1900 --from 14000",
)
COUNT_MAX = (1 << 31) - 1  # of rows that Spark can be asked for


def command(
    kind: Annotated[
        str, typer.Argument(metavar="KIND", help="follows, avt, irc, mail, deliveries, newsgroups, matrix or pairs.")
    ],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The trace: plain text or gzip.")],
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the tables go.")],
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", help="follows: only N users, by breadth-first searches.", min=1, max=COUNT_MAX),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="follows: another seed, another sample.", min=0, max=(1 << 63) - 1)
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="follows: how far a search goes from where it starts (1).", min=1, max=64)
    ] = None,
    xmin: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="follows: where the power law begins; else where it fits.", min=1, max=COUNT_MAX
        ),
    ] = None,
    merge_gaps: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="avt: sessions parted by at most this are one.", min=0, max=1e9),
    ] = None,
    from_: Annotated[
        float | None, typer.Option("--from", metavar="SECONDS", help="avt: leave out what was before.", min=0, max=1e9)
    ] = None,
    edge: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="avt: how near to an edge a session is censored (400).", min=0, max=1e9),
    ] = None,
    annotated: Annotated[bool, typer.Option("--annotated", help="irc: only lines that were annotated.")] = False,
    since: Annotated[
        int | None, typer.Option(metavar="YEAR", help="mail, deliveries: the first year.", min=1970, max=2200)
    ] = None,
    until: Annotated[
        int | None, typer.Option(metavar="YEAR", help="mail, deliveries: the last year.", min=1970, max=2200)
    ] = None,
    created: Annotated[Path | None, typer.Option(metavar="PATH", help="newsgroups: a file of creation dates.")] = None,
    removed: Annotated[Path | None, typer.Option(metavar="PATH", help="newsgroups: a file of removal dates.")] = None,
    unit: Annotated[str | None, typer.Option(metavar="ms|s", help="matrix: the unit of its times (ms).")] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="pairs: give up places until no pair is missing.")
    ] = False,
    master: Annotated[str | None, typer.Option(help="Spark's master; local[*] if there is none.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
) -> int:
    """Read a public trace on Spark and write it as clean tables, with what was dropped and summary figures.

    Exit code 0: the tables stand in DIR. 2: the trace was refused, and nothing was written.
    """
    from rich.markup import escape

    from trellis.pipeline.session import check_installed, session

    check_installed()
    from trellis.pipeline.ingest import ingest

    options = {
        "sample": sample,
        "seed": seed,
        "depth": depth,
        "xmin": xmin,
        "merge_gaps": merge_gaps,
        "from": from_,
        "edge": edge,
        "annotated": annotated or None,
        "since": since,
        "until": until,
        "created": created,
        "removed": removed,
        "unit": unit,
        "complete": complete or None,
    }
    given = {name: value for name, value in options.items() if value is not None}
    with err.status("checking") as status:
        summary = ingest(kind, path, out_dir, given, lambda: session(master), lambda text: status.update(escape(text)))
    if as_json:
        print_json(summary)
    else:
        show(summary)
        out.print(f"tables written to {out_dir}: {', '.join(summary['tables'])}", markup=False)
    return 0


def show(summary: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    source, statistics = summary["source"], summary["statistics"]
    views = [view for view in ("whole", "sample") if view in statistics]
    table = Table("", *(views or ["value"]), title_justify="left")
    table.title = Text(f"{summary['ingest']}: {source['file']}, {source['lines']:,} lines")
    if views:
        for name in statistics["whole"]:
            table.add_row(name, *[Text(told(statistics[view][name])) for view in views])
    else:
        for name, value in statistics.items():
            table.add_row(name, Text(told(value)))
    out.print(table)
    table = Table("dropped", "why", "count", "first line", title_justify="left")
    for drop in summary["dropped"]:
        table.add_row(drop["what"], drop["reason"], f"{drop['count']:,}", str(drop["line"]))
    if summary["dropped"]:
        out.print(table)
    rows = ", ".join(f"{name} {count:,}" for name, count in summary["tables"].items())
    out.print(f"rows: {rows}", markup=False)


def told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k} {'(' + told(v) + ')' if isinstance(v, dict) else told(v)}" for k, v in value.items())
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}" if isinstance(value, float) else str(value)

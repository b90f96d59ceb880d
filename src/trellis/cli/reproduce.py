"""trellis reproduce: a paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trellis.cli.command import example, out, print_json, progress

if TYPE_CHECKING:
    from trellis.experiments.experiment import Experiment

EPILOG = example(
    "trellis reproduce vcube-ps --out out/vcube-ps",
    "trellis reproduce vcube-ps --figure fig4a --figure table1",
    "trellis reproduce tno --out out/tno",
    "trellis reproduce damulticast --out out/damulticast",
    "trellis reproduce vitis --follows out/follows --out out/vitis",
)


def command(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Which paper: vcube-ps, tno, damulticast or vitis.")],
    figure: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this figure, as fig4a or table1; may be repeated.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="quick: minutes on two cores; paper: the paper's own sizes and runs, hours.")
    ] = "quick",
    out_dir: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where runs, page and claims go.")] = Path(
        "out/reproduce"
    ),
    follows: Annotated[
        Path | None, typer.Option(metavar="DIR", help="vitis: what `trellis ingest follows` wrote, for Figures 8-11.")
    ] = None,
    sessions: Annotated[
        Path | None, typer.Option(metavar="DIR", help="vitis: what `trellis ingest avt` wrote, for Figure 12.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(help="tno: auto, reference or fast; both give the same rows, and the page says which it was."),
    ] = "auto",
    master: Annotated[str | None, typer.Option(help="Spark master; else TRELLIS_SPARK_MASTER, else local[*].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what claims.json has.")] = False,
) -> int:
    """Run the experiments of a paper and write a page: the published figures beside ours, held or not, and why.

    What was interrupted goes on where it was. Exit code 0: everything was run, whether held or not, but for figures
    whose data was not given: they say so.
    """
    from trellis.experiments import experiments_of, scale_of

    chosen, size = experiments_of(paper, figure or ()), scale_of(scale)
    brought = {name: place for name, place in (("follows", follows), ("sessions", sessions)) if place is not None}
    check_data(paper, chosen, brought)
    check_engine(paper, chosen, engine)
    from trellis.pipeline.session import chosen_master, session

    master = chosen_master(master)
    prepare(out_dir)
    from trellis.experiments.reproduce import reproduce
    from trellis.report.reproduction import claims_json, reproduction, spent, tally

    with progress(f"{paper}, {scale}", 1.0, quiet=as_json) as bar:
        bar(0, "starting Spark")
        spark = session(master)
        outcomes = reproduce(
            spark,
            chosen,
            size,
            out_dir,
            lambda id, done, total, runs: bar(done / total, f"{id}: {done} of {total} done{runs and ', ' + runs}"),
            brought,
            engine,
        )
    claims = claims_json(paper, size, outcomes)
    put(out_dir / "claims.json", claims)
    put(out_dir / "index.html", reproduction(paper, size, outcomes).encode())
    if as_json:
        import json

        print_json(json.loads(claims))
        return 0
    for outcome in outcomes:
        counts = tally(outcome.verdicts)
        told = f"{counts.held} of {counts.claims} held; {outcome.sizes}{spent(outcome.took)}"
        out.print(f"[bold]{outcome.experiment.title}[/]: {told}", highlight=False)
        for verdict in outcome.verdicts:
            state = "held    " if verdict.held else "not run " if verdict.measured is None else "NOT held"
            ours = "-" if verdict.measured is None else f"{verdict.measured:.4g}"
            out.print(f"  {state} {verdict.claim}: {verdict.published:g}{verdict.unit}, ours {ours}", markup=False)
    out.print(f"open {out_dir / 'index.html'} in a browser; claims are in {out_dir / 'claims.json'}", markup=False)
    return 0


def check_data(paper: str, chosen: Sequence[Experiment], brought: Mapping[str, Path]) -> None:
    """Before Spark starts: is it what was asked for, and does a figure need it?"""
    from trellis.errors import PipelineError
    from trellis.experiments.data import check
    from trellis.experiments.experiment import needs

    needed = {name for experiment in chosen for name in needs(experiment)}
    for name, place in brought.items():
        if name not in needed:
            raise PipelineError(f"--{name} {place}: no chosen figure of {paper} needs it; leave it out")
    check(brought)


def check_engine(paper: str, chosen: Sequence[Experiment], engine: str) -> None:
    from trellis.errors import UnsupportedByEngine
    from trellis.sim import AUTO, ENGINES

    if engine not in ENGINES:
        raise UnsupportedByEngine(f"engine {engine!r}: no such engine; there are {', '.join(ENGINES)}")
    if engine != AUTO and not any(table.engines for experiment in chosen for table in experiment.tables):
        raise UnsupportedByEngine(
            f"--engine {engine}: no chosen figure of {paper} lets it be chosen; leave it out, auto takes what there is"
        )


def prepare(directory: Path) -> None:
    """Before hours of work: can the results be written there?"""
    from trellis.errors import PipelineError

    try:
        directory.mkdir(parents=True, exist_ok=True)
        there = {entry.name for entry in directory.iterdir()}
        if "claims.json" not in there and not there <= {"sweeps", ".claims.json"}:
            raise PipelineError(f"{directory}: not empty and not a reproduction; give a new directory")
    except (FileExistsError, NotADirectoryError):
        raise PipelineError(f"{directory}: a file stands there; give a directory") from None
    except OSError as error:
        raise PipelineError(f"{directory}: cannot be written ({error.strerror}); give another directory") from None


def put(place: Path, content: bytes) -> None:
    """Whole or not at all."""
    aside = place.with_name(f".{place.name}")
    try:
        aside.write_bytes(content)
        aside.rename(place)
    finally:
        aside.unlink(missing_ok=True)

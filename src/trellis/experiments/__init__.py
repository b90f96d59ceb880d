"""The experiments of the papers: one file per figure or table, with the grid, the published figures and the claims.

`PAPERS` is the registry: a paper's name and its experiments in the order of the paper.
"""

from __future__ import annotations

from collections.abc import Iterable

from trellis.errors import PipelineError
from trellis.experiments import damulticast, tno, vcube_ps, vitis
from trellis.experiments.claim import Verdict
from trellis.experiments.experiment import SCALES, Experiment, Outcome, Scale, outcome

PAPERS: dict[str, tuple[Experiment, ...]] = {
    "vcube-ps": vcube_ps.EXPERIMENTS,
    "tno": tno.EXPERIMENTS,
    "damulticast": damulticast.EXPERIMENTS,
    "vitis": vitis.EXPERIMENTS,
}


def experiments_of(paper: str, figures: Iterable[str] = ()) -> list[Experiment]:
    """Those of a paper, or the named ones of them, in the paper's order."""
    if paper not in PAPERS:
        raise PipelineError(f"paper {paper!r}: there is no such paper; there are {', '.join(PAPERS)}")
    wanted, there = list(figures), [experiment.id for experiment in PAPERS[paper]]
    for figure in wanted:
        if figure not in there:
            raise PipelineError(f"figure {figure!r}: {paper} has no such figure; there are {', '.join(there)}")
    return [experiment for experiment in PAPERS[paper] if not wanted or experiment.id in wanted]


def scale_of(name: str) -> Scale:
    for scale in SCALES:
        if scale == name:
            return scale
    raise PipelineError(f"scale {name!r}: there is no such scale; there are {', '.join(SCALES)}")


__all__ = ["PAPERS", "SCALES", "Experiment", "Outcome", "Scale", "Verdict", "experiments_of", "outcome", "scale_of"]

"""Vitis (seed paper 004), section IV: Figures 4 to 7, and what its abstract promises."""

from trellis.experiments.experiment import Experiment
from trellis.experiments.vitis import fig4, fig5, fig6, fig7, savings

EXPERIMENTS: tuple[Experiment, ...] = tuple(module.EXPERIMENT for module in (savings, fig4, fig5, fig6, fig7))

"""Vitis (seed paper 004), section IV: Figures 4 to 12 and what its abstract promises; and repair under churn, ours."""

from trellis.experiments.experiment import Experiment
from trellis.experiments.vitis import fig4, fig5, fig6, fig7, fig8, fig10, fig11, fig12, repair, savings

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT for module in (savings, fig4, fig5, fig6, fig7, fig8, fig10, fig11, fig12, repair)
)

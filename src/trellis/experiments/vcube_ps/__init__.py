"""VCube-PS (papers of 2017 and 2018), section 4: every figure and table."""

from trellis.experiments.experiment import Experiment
from trellis.experiments.vcube_ps import fig4a, fig4b, fig5a, fig5b, fig6, fig7, fig8, fig9, table1, table2

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT for module in (fig4a, fig4b, fig5a, fig5b, table1, fig6, fig7, table2, fig8, fig9)
)

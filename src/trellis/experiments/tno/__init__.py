"""TNO, the multistage sequencer (seed paper 001), section 5: every figure, and what the paper does not measure."""

from trellis.experiments.experiment import Experiment
from trellis.experiments.tno import fig7, fig9, fig11, fig13, headers, overlap, rivals

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT for module in (fig7, overlap, headers, fig9, fig11, fig13, rivals)
)

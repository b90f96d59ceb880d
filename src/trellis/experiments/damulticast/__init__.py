"""daMulticast (seed paper 003), section 6: both figures and both tables; and sections 5.2, 5.3 and 5.5 measured."""

from trellis.experiments.damulticast import fig4, fig5, memory, repair, table1, table2, tradeoff
from trellis.experiments.experiment import Experiment

EXPERIMENTS: tuple[Experiment, ...] = tuple(
    module.EXPERIMENT for module in (fig4, fig5, table1, table2, memory, tradeoff, repair)
)

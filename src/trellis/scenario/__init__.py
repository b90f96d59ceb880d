"""One run described completely and hashably: as a TOML file or as the same Python objects."""

from trellis.scenario.check import check
from trellis.scenario.grid import Grid, load_grid, points
from trellis.scenario.load import from_mapping, load
from trellis.scenario.model import Scenario
from trellis.scenario.plan import Plan, plan

__all__ = ["Grid", "Plan", "Scenario", "check", "from_mapping", "load", "load_grid", "plan", "points"]

"""The trace: one table of rows. Every host writes it; every audit, metric and figure reads only it."""

from trellis.trace.rows import Row
from trellis.trace.table import Recorder, Trace

__all__ = ["Recorder", "Row", "Trace"]

"""Trellis: topic-based publish/subscribe with a chosen order."""

from trellis.errors import TrellisError

__version__ = "0.1.0"

__all__ = ["TrellisError", "__version__"]

"""Random schedules under audit: one seed is the whole world."""

from trellis.swarm.campaign import Campaign, Failure, Tried, try_one
from trellis.swarm.schedule import schedule

__all__ = ["Campaign", "Failure", "Tried", "schedule", "try_one"]

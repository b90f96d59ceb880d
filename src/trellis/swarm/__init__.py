"""Random schedules under audit: one seed is the whole world."""

from trellis.swarm.campaign import Campaign, Failure, Tried, try_one
from trellis.swarm.schedule import break_things, lose_replies, make_hasty, schedule

__all__ = ["Campaign", "Failure", "Tried", "break_things", "lose_replies", "make_hasty", "schedule", "try_one"]

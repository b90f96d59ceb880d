"""Compiled twins of the overlays that gossip: `damulticast`, its printed form, and what it was measured against."""

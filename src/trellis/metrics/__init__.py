"""Figures from a trace, and from nothing else."""

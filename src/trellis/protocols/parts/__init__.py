"""Pieces that more than one protocol quotes: data and formulas, and one machine, the failure detector."""

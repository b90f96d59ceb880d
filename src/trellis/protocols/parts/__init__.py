"""Pieces that more than one protocol quotes. Pure data and formulas: none of them is a machine."""

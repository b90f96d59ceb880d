"""Compiled twins of the overlays of trees: `vcube-printed`, `vcube`, `single-root` and `brokers`."""

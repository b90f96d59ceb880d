"""Figures and pages from traces and metric tables only."""

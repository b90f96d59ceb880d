"""Overlays that grow like a vine, compiled: `vitis`, `rendezvous` and `topic-overlay` in rounds, a file for each part.

Assumes:  nobody comes, goes or changes its subscriptions, nothing is compared (`repair` = 0), and no order is kept.

What is kept otherwise than in the machines, and why the rows are the same:
- No calendar. In a round nodes take their turns in the order of their ids, and what they send arrives in the next one:
  packets lie in the order in which they were sent, and are laid out by receiver before a round begins (`mail.py`).
- A node has one profile for ever, or none that anybody has heard of: a profile is a node and one bit (`tables.py`).
- Topics are numbered in the order in which nodes were told that they have them: in that of `taken`.
- What travels in profiles (proposals, asks) is never changed, so it lies in one pool and is named by its place there.
  What nobody names any more goes when there is no room (`running.py`).
- Nobody's subscriptions change, so what two nodes share, and whom one likes how much, are known once it has spoken.
- No account and no log: without comparisons nobody asks what they hold but whether a message came (`spreading.py`).
"""

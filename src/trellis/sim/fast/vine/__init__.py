"""Overlays that grow like a vine, compiled: `vitis`, `rendezvous` and `topic-overlay` in rounds, a file for each part.

Assumes:  subscriptions stand from before the run, nothing is repaired (`repair` = 0), and no order is kept. Nodes may
          die and come back; then they subscribe again to what they had.

What is kept otherwise than in the machines, and why the rows are the same:
- No calendar. In a round nodes take their turns in the order of their ids, and what they send arrives in the next one:
  packets lie in the order in which they were sent, and are laid out by receiver before a round begins (`mail.py`).
- In each of its lives a node has one profile, or none that anybody has heard of, and its topics are the same in all: a
  profile is a node, the number of its life, and one bit (`tables.py`).
- Who dies and comes up when, whom it hears of then and in which life it says what is known before the run
  (`comings.py`). Each life has a number of its own, by which messages on their way are found: a new one has none.
- Time is that of the node whose turn it is: rounds since it came up.
- Topics are numbered in the order in which nodes were told that they have them: in that of `taken`.
- What travels in profiles (proposals, asks) is never changed, so it lies in one pool and is named by its place there.
  What nobody names any more goes when there is no room (`running.py`).
- Nobody's subscriptions change, so what two nodes share, and whom one likes how much, are known once it has spoken.
- No account and no log: nobody asks what they hold but whether a message came (`spreading.py`), and whoever joins, from
  where on it gets everything: then that is looked up, message by message (`cuts.py`).
"""

"""How a message reaches the subscribers of its topic: one file per overlay."""

"""When a message may be delivered: one file per order."""

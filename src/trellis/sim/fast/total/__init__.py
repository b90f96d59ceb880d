"""The sequencer of `total`, compiled: timestamps alone, and what they take on links."""

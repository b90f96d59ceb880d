"""The live runtime: the same machines on real sockets."""

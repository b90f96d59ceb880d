"""The same machines on real sockets."""

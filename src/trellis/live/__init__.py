"""The machines of `protocols` on real sockets: brokerless, every connection authenticated on both sides."""

"""pyzmq as its guide shows it: PUB and SUB, topic and payload as two frames of one message.

Used:    `send_multipart` and `recv_multipart`, with copying (as in zmq_frame).
No loss: as in zmq_frame.
"""

from __future__ import annotations

from race.load import Feed, Tally, drive

from contestants.zmq_frame import BATCH, server, versions

__all__ = ["publisher", "server", "subscriber", "title", "versions"]

title = "pyzmq, multipart"
TOPIC = b"news"


def publisher(address: str, feed: Feed) -> None:
    import zmq

    socket = zmq.Context().socket(zmq.PUB)
    socket.set(zmq.XPUB_NODROP, 1)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    feed.opened(f"tcp://127.0.0.1:{port}")
    send_parts = socket.send_multipart

    def send(payloads: list[bytes]) -> None:
        for payload in payloads:
            send_parts((TOPIC, payload))

    drive(feed, send, BATCH)


def subscriber(address: str, tally: Tally) -> None:
    import zmq

    socket = zmq.Context().socket(zmq.SUB)
    socket.connect(address)
    socket.subscribe(TOPIC)
    tally.ready()
    receive, take = socket.recv_multipart, tally.take
    while True:
        take(receive()[1])

"""pyzmq in its fastest form: PUB and SUB, topic and payload in one frame.

Used:    `Socket.send(topic + payload)` and `Socket.recv()`. One frame halves the calls into libzmq and the frames on
         the wire; copying is faster than `copy=False` below pyzmq's `copy_threshold` of 64 KiB; libzmq batches by
         itself in its I/O thread.
No loss: XPUB_NODROP makes `send` wait at the high-water mark instead of dropping, and a full subscriber stops reading
         its connection: libzmq's own flow control, so no window is needed. The mark is libzmq's default, 1,000
         messages; higher ones, and 0 (no limit), were no faster.
"""

from __future__ import annotations

from race.load import Feed, Tally, drive

title = "pyzmq, one frame"
TOPIC = b"news "
BATCH = 64  # between two looks at the clock; libzmq has no call for many messages


def versions() -> str:
    import zmq

    return f"pyzmq {zmq.pyzmq_version()}, libzmq {zmq.zmq_version()}"


def server() -> None:
    return None


def publisher(address: str, feed: Feed) -> None:
    import zmq

    socket = zmq.Context().socket(zmq.PUB)
    socket.set(zmq.XPUB_NODROP, 1)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    feed.opened(f"tcp://127.0.0.1:{port}")
    send_one = socket.send

    def send(payloads: list[bytes]) -> None:
        for payload in payloads:
            send_one(TOPIC + payload)

    drive(feed, send, BATCH)


def subscriber(address: str, tally: Tally) -> None:
    import zmq

    socket = zmq.Context().socket(zmq.SUB)
    socket.connect(address)
    socket.subscribe(TOPIC)
    tally.ready()
    receive, take, start = socket.recv, tally.take, len(TOPIC)
    while True:
        take(receive()[start:])

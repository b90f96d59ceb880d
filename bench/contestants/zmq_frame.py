"""pyzmq in its fastest form: PUB and SUB, topic and payload in one frame.

Used:    `Socket.send(topic + payload)` and `Socket.recv()`. One frame halves the calls into libzmq and the frames on
         the wire; copying is faster than `copy=False` below pyzmq's `copy_threshold` of 64 KiB; libzmq batches by
         itself in its I/O thread.
No loss: XPUB_NODROP makes `send` wait at the high-water mark instead of dropping, and a full subscriber stops reading
         its connection: libzmq's own flow control, so no window is needed. The mark is libzmq's default, 1,000
         messages. Of 0 (no limit), 1,000, 16,384 and 100,000, five runs each on a busy machine, it had the highest
         median rate in three of four cases (both forms, 128 and 1,024 bytes); one frame of 128 bytes went 9% faster
         at 16,384, within the noise, and took 14% less CPU time at 0, within the noise too.
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

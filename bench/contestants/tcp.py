"""The ceiling for Python: a bare TCP fan-out on asyncio. No topics, no order to keep, nobody comes, leaves or fails.

Many payloads in a frame (their lengths, then the payloads), the frame encoded once and written whole to each
subscriber; a subscriber cuts all frames of a read at once. `drain` is the flow control, so no window is needed.
"""

from __future__ import annotations

import asyncio
import struct
from itertools import accumulate, pairwise

from race.load import Feed, Tally, drive_async, loop_version, run

title = "bare asyncio TCP"
PREFIX = struct.Struct("!II")  # payloads in the frame, bytes after the lengths


def versions() -> str:
    return loop_version()


def server() -> None:
    return None


def encode(payloads: list[bytes]) -> bytes:
    lengths = list(map(len, payloads))
    head = struct.pack(f"!II{len(lengths)}I", len(lengths), sum(lengths), *lengths)
    return b"".join([head, *payloads])


class Frames(asyncio.Protocol):
    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        data = self.rest + data if self.rest else data
        at = 0
        while len(data) - at >= PREFIX.size:
            count, size = PREFIX.unpack_from(data, at)
            start = at + PREFIX.size + 4 * count
            if len(data) < start + size:
                break
            ends = accumulate(struct.unpack_from(f"!{count}I", data, at + PREFIX.size), initial=start)
            self.tally.take_many([data[a:b] for a, b in pairwise(ends)])
            at = start + size
        self.rest = data[at:]


def publisher(address: str, feed: Feed) -> None:
    async def main() -> None:
        writers: list[asyncio.StreamWriter] = []

        async def send(payloads: list[bytes]) -> None:
            frame = encode(payloads)
            for writer in writers:
                writer.write(frame)
            for writer in writers:
                await writer.drain()

        server = await asyncio.start_server(lambda _, writer: writers.append(writer), "127.0.0.1", 0)
        feed.opened(str(server.sockets[0].getsockname()[1]))
        await drive_async(feed, send, feed.load.in_one_frame())

    run(main())


def subscriber(address: str, tally: Tally) -> None:
    async def main() -> None:
        await asyncio.get_running_loop().create_connection(lambda: Frames(tally), "127.0.0.1", int(address))
        tally.ready()
        await asyncio.Event().wait()

    run(main())

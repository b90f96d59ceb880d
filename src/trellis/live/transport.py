"""Links: frames over TCP and TLS.

Promises: an owner hears `opened`, then `received` with all the frames of a read at once, then `closed` exactly once,
          and nothing after it. `send` never waits: what is sent in one turn of the loop goes out in one write, and a
          peer that does not read is left after `QUEUE_MAX` bytes. Every end has a reason, in the log and for the
          owner. A stranger costs little: `STRANGERS_MAX` connections of a listener that are not accepted yet, the
          oldest giving way to the newest; a TLS session only once it has sent something; five seconds to shake
          hands, five to be accepted, and `STRANGER_MAX` bytes a frame till then.
Assumes:  an owner that calls `accept` knows whom it accepts. It may raise `RemoteProtocolError` in `received`: the link
          ends with that reason, as it does when anything else is raised there.
Departs:  plaintext is for loopback only, and only where the caller says None for `tls`.

Works under asyncio and uvloop: TLS runs here, over memory, so that no session exists before there is room for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol, cast

from trellis.errors import AddressError, NetworkError, TrellisError
from trellis.live import closings
from trellis.live.addresses import resolved, written
from trellis.live.codec import Decoder, encode
from trellis.live.frames import QUEUE_MAX, Frame
from trellis.live.tls import Channel, Identity, Stranger, peer
from trellis.protocols.parts.deltas import Shortener

log = logging.getLogger("trellis.live")

STRANGERS_MAX = 128  # connections of one listener that are not accepted
SHAKE_MAX = 5.0  # seconds for a handshake
ACCEPT_MAX = 5.0  # seconds from there until the link is accepted
LINGER = 2.0  # seconds for the last words of a link that we close
WRITE_MAX = 1 << 18  # bytes in one write
BUFFER_MAX = 1 << 20  # bytes in the transport below, before we hold back the rest
GATHER = 0.01  # seconds that a frame which can wait waits for others
GATHER_MAX = 8  # and how many such frames: on ten levels of a tree, fewer than a source's window is wide


class Owner(Protocol):
    """Who lives on links."""

    def opened(self, link: Link) -> None: ...
    def received(self, link: Link, frames: list[Frame]) -> None: ...
    def closed(self, link: Link, reason: str) -> None: ...


class Link(asyncio.Protocol):
    """One connection to a peer."""

    transport: asyncio.Transport  # from connection_made on

    def __init__(self, owner: Owner, tls: Identity | None, door: Server | None = None) -> None:
        self.owner = owner
        self.tls = tls
        self.door = door  # where it came in, while it is a stranger
        self.dialled = door is None
        self.address = ""  # of the peer's end
        self.peer = ""  # the name in its certificate
        self.is_node = True  # its certificate is a node's; False for a client's
        self.reason: str | None = None  # why it ended
        self.quiet = False  # its end is nothing to tell of
        self.loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self.loop.create_future()  # opened, or ended before that
        self.open = False
        self.heard = False  # the peer has said something
        self.gone: asyncio.Future[None] = self.loop.create_future()  # nothing of it is left, unsent bytes neither
        self.decoder = Decoder()
        self.shortener: Shortener | None = None  # of timestamps, on a link between members
        self.channel: Channel | None = None
        self.timer: asyncio.TimerHandle | None = None  # for the handshake, to be accepted, to linger
        self.expiry: asyncio.TimerHandle | None = None  # of its certificate
        self.chunks: list[bytes] = []  # to be written
        self.waiting = 0  # bytes in them
        self.flushing = False  # a write is due in this turn of the loop
        self.gathered = 0  # frames that can wait, since the last write
        self.gathering: asyncio.TimerHandle | None = None  # while there are only such frames
        self.held = False  # the transport below is full
        self.before_write: Callable[[], None] | None = None  # what must be done before anything leaves
        self.has_room: Callable[[], None] | None = None  # told when the transport below has taken all

    # What the owner may do.

    def accept(self) -> None:
        """The peer is known. It may stay, and send large frames."""
        self.decoder.accept()
        self.leave_door()

    def send(self, frame: Frame, can_wait: bool = False) -> None:
        """Put a frame on its way, or beside others that will go soon. To a link that has ended it goes nowhere."""
        if self.reason is not None:
            return
        chunks = encode(frame, self.shortener)
        self.chunks += chunks
        self.waiting += sum(map(len, chunks))
        if self.waiting > QUEUE_MAX:
            self.end(f"{self.waiting} bytes wait for a peer that does not read: the limit is {QUEUE_MAX}")
        elif not self.flushing:
            self.gathered += can_wait
            if not can_wait or self.gathered >= GATHER_MAX:
                self.flushing = True
                self.loop.call_soon(self.flush)
            elif self.gathering is None:
                self.gathering = self.loop.call_later(GATHER, self.flush)

    @property
    def queued(self) -> int:
        """Bytes that have not left this process."""
        return self.waiting + (self.transport.get_write_buffer_size() if self.reason is None else 0)

    @property
    def closings(self) -> closings.Closings:
        return closings.OF_ACCEPTED if self.decoder.accepted else closings.OF_STRANGERS

    def close(self, reason: str) -> None:
        """End it; what was sent before still goes out, if the peer takes it soon."""
        if self.reason is not None:
            return
        if self.chunks:
            self.write(self.chunks)
        self.over(reason)
        self.transport.close()
        self.timer = self.loop.call_later(LINGER, self.transport.abort)

    # What happens to it.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=BUFFER_MAX)
        self.address = written(transport.get_extra_info("peername"))
        if self.door is not None:
            self.door.enter(self)
        if self.tls is None:
            self.begin()
            return
        self.wait_for("handshake", SHAKE_MAX)
        if self.dialled:
            self.channel = Channel(self.tls, dialled=True)
            self.channel.shake()
            self.transport.write(self.channel.outgoing.read())

    def data_received(self, data: bytes) -> None:
        if self.reason is not None:
            return
        self.heard = True
        try:
            if self.tls is not None:
                data = self.opened_bytes(data)
            frames = self.decoder.feed(data)
            while frames and self.reason is None:
                self.owner.received(self, frames)
                frames = self.decoder.feed(b"")
        except TrellisError as error:
            self.closings.refused += 1
            self.close(str(error))
        except Exception as error:  # what the owner did not expect must not keep the loop from others
            log.exception("link with %s: its frames made this node fail", self.address)
            self.close(f"it made this node fail ({type(error).__name__})")

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if not self.gone.done():
            self.gone.set_result(None)
        self.over(self.guess() if exc is None else f"it broke: {exc}")

    def guess(self) -> str:
        """Why the peer may have closed it: who wants a handshake says nothing to who wants none, and so the reverse."""
        if not self.dialled or self.heard:
            return "the peer closed it"
        wants = "want keys: give --keys and --name" if self.tls is None else "run without keys: give --plaintext"
        return f"the peer closed it without a word; it may {wants}"

    def pause_writing(self) -> None:
        self.held = True

    def resume_writing(self) -> None:
        self.held = False
        self.flush()

    # How.

    def opened_bytes(self, data: bytes) -> bytes:
        """What the peer says in TLS; the handshake on the way to it."""
        assert self.tls is not None
        if self.channel is None:
            self.channel = Channel(self.tls, dialled=False)
        channel = self.channel
        try:
            plain = channel.open(data)
        finally:  # an alert, too
            if channel.outgoing.pending:
                self.transport.write(channel.outgoing.read())
        if channel.ready and not self.open:
            known = peer(channel.tls)
            self.peer, self.is_node = known.name, known.node
            left = known.until - time.time()
            self.expiry = self.loop.call_later(left, self.close, "the certificate of the peer has expired")
            self.begin()
        return plain if self.reason is None else b""

    def begin(self) -> None:
        self.open = True
        self.wait_for("accept", ACCEPT_MAX)
        if self.door is not None:
            self.door.known(self)
        self.owner.opened(self)
        if not self.ready.done():
            self.ready.set_result(None)

    def wait_for(self, what: str, seconds: float) -> None:
        """Be patient with a stranger for a while."""
        if self.timer is not None:
            self.timer.cancel()
        if not self.decoder.accepted:
            self.timer = self.loop.call_later(seconds, self.end, f"no {what} within {seconds:g} s")

    def leave_door(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.door is not None:
            self.door.leave(self)
            self.door = None

    def flush(self) -> None:
        self.flushing = False
        self.gathered = 0
        if self.gathering is not None:
            self.gathering.cancel()
            self.gathering = None
        while self.chunks and not self.held and self.reason is None:
            if self.waiting <= WRITE_MAX:
                batch, self.chunks, self.waiting = self.chunks, [], 0
            else:
                batch, size = [], 0
                for chunk in self.chunks:
                    batch.append(chunk)
                    size += len(chunk)
                    if size >= WRITE_MAX:
                        break
                del self.chunks[: len(batch)]
                self.waiting -= size
            self.write(batch)
        if self.has_room is not None and not self.held:
            self.has_room()

    def write(self, batch: list[bytes]) -> None:
        if self.before_write is not None:
            try:
                self.before_write()
            except TrellisError as error:  # then it may not leave, and a link with a hole in it must not go on
                self.end(str(error))
                return
        if self.channel is None:
            self.transport.writelines(batch)
            return
        try:
            sealed = self.channel.seal(b"".join(batch))
        except Stranger as error:
            self.end(str(error))
        else:
            self.transport.write(sealed)

    def end(self, reason: str) -> None:
        """End it at once: nobody is there who would read."""
        if self.reason is None:
            self.over(reason)
            self.transport.abort()

    def over(self, reason: str) -> None:
        """Say once that it is over, and to whom it matters."""
        if self.reason is not None:
            return
        self.reason = reason
        way = "to" if self.dialled else "from"
        line = f"link {way} {self.address}{self.peer and f' ({self.peer})'} closed: {reason}"
        self.closings.say(line, quiet=self.quiet)
        self.leave_door()
        for handle in (self.expiry, self.gathering):
            if handle is not None:
                handle.cancel()
        self.chunks, self.waiting = [], 0
        if self.open:
            self.loop.call_soon(self.owner.closed, self, reason)
        if not self.ready.done():
            self.ready.set_result(None)


class Server:
    """A listener, and the strangers at its door."""

    def __init__(self, owner: Owner, tls: Identity | None) -> None:
        self.owner = owner
        self.tls = tls
        self.address = ""
        self.strangers: dict[Link, None] = {}  # the oldest first
        self.listening: asyncio.Server | None = None

    def link(self) -> Link:
        return Link(self.owner, self.tls, self)

    def enter(self, link: Link) -> None:
        if len(self.strangers) >= STRANGERS_MAX:
            next(iter(self.strangers)).end(f"{STRANGERS_MAX} newer connections wait to be accepted")
        self.strangers[link] = None

    def known(self, link: Link) -> None:
        """It has shown a certificate: those that have not give way before it."""
        self.strangers[link] = self.strangers.pop(link)

    def leave(self, link: Link) -> None:
        self.strangers.pop(link, None)

    def close(self) -> None:
        """Listen no more. Links that were accepted stay."""
        if self.listening is not None:
            self.listening.close()
        for link in list(self.strangers):
            link.end("the listener closes")


async def listen(address: str, owner: Owner, tls: Identity | None) -> Server:
    """Take connections at `host:port`; port 0 is any that is free, and the server's `address` says which."""
    server = Server(owner, tls)
    try:
        host, port = await resolved(address, tls)
        server.listening = await asyncio.get_running_loop().create_server(server.link, host, port)
    except NetworkError as error:
        raise AddressError(str(error)) from None
    except OSError as error:
        raise AddressError(f"{address}: cannot be listened at ({error.strerror or error}); give another") from None
    server.address = written(server.listening.sockets[0].getsockname())
    return server


async def dial(address: str, owner: Owner, tls: Identity | None, timeout: float) -> Link:
    """Connect to a listener. The link is open when it comes back; whether the peer accepts it shows later."""
    link = Link(owner, tls)
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout):
            host, port = await resolved(address, tls)
            await loop.create_connection(lambda: link, host, port)
            await link.ready
    except BaseException as error:
        if hasattr(link, "transport"):
            link.end("the dialler gave up")
        if isinstance(error, TimeoutError):
            raise NetworkError(f"{address}: no link within {timeout:g} s") from None
        if isinstance(error, OSError):
            why = f"{address}: cannot be reached ({error.strerror or error})"
            raise NetworkError(f"{why}; is it running? see `trellis cluster status`") from None
        raise
    if link.reason is not None:
        raise NetworkError(f"{address}: {link.reason}")
    return link

"""What a node shows to Prometheus: one endpoint, and nothing to pay for until it is read.

Promises: numbers are read when somebody asks, on the node's own loop, so that they fit together. Whoever asks slowly,
          byte by byte or not at all, holds up other askers for `REQUEST_MAX` seconds, never the node nor its end.
Assumes:  whoever reaches the address may read it: it is plain HTTP, so listen on loopback, or behind a proxy.
Departs:  closed links and refused frames are counted for the whole process; `trellis node` runs one node in it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from socket import SHUT_RDWR
from threading import Thread, Timer
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from trellis.errors import NetworkError
from trellis.live import closings
from trellis.live.addresses import looked_up, written
from trellis.live.status import queued

if TYPE_CHECKING:
    from trellis.live.api import Node

REQUEST_MAX = 2.0  # seconds for a request to come in
ANSWER_MAX = 5.0  # seconds for a busy loop to come to it
POLL = 0.2  # seconds after which a server sees that it is to end


class Gauges(Collector):
    """Reads one node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.loop = asyncio.get_running_loop()

    def collect(self) -> Iterator[Metric]:
        """Called in the endpoint's thread."""
        yield from asyncio.run_coroutine_threadsafe(self.read(), self.loop).result(ANSWER_MAX)

    async def read(self) -> list[Metric]:
        node, tally = self.node, self.node.host.tally
        courses = list(node.courses.values())
        waves = [overlay.under_way(c.topic) for c in courses if (overlay := node.host.overlay(c.stack))]
        members = node.members.roster.present()
        readers = {reader for course in courses for reader in course.readers}  # of several topics, or of one
        who = InfoMetricFamily("trellis_node", "Who this is.")
        life = {"place": str(node.place), "incarnation": str(node.incarnation), "address": node.address}
        who.add_metric([], {**life, "name": node.name})
        queues = GaugeMetricFamily("trellis_queued_bytes", "Not yet sent, by place of the peer.", labels=["peer"])
        for member in members:
            if member.place != node.place:
                queues.add_metric([str(member.place)], queued(node, member.place))
        gaps = CounterMetricFamily("trellis_gaps", "Messages told as gaps, by reason.", labels=["why"])
        gaps.add_metric(["nobody had them"], tally.lacking)
        gaps.add_metric(["slow reader"], tally.left_out)
        closed = CounterMetricFamily("trellis_links_closed", "Connections that ended.", labels=["who"])
        closed.add_metric(["accepted"], closings.OF_ACCEPTED.total)
        closed.add_metric(["stranger"], closings.OF_STRANGERS.total)
        stamps = CounterMetricFamily(
            "trellis_stamp_bytes", "Timestamps of total order on links to members.", labels=["form"]
        )
        stamps.add_metric(["plain"], tally.stamps.plain)
        stamps.add_metric(["sent"], tally.stamps.sent)
        return [
            who,
            CounterMetricFamily("trellis_published", "Messages published here.", tally.published),
            CounterMetricFamily("trellis_settled", "Of those, every confirmed subscriber has them.", tally.settled),
            CounterMetricFamily("trellis_delivered", "Messages delivered here.", tally.delivered),
            CounterMetricFamily("trellis_late", "Of those, tagged as out of order.", tally.late),
            gaps,
            GaugeMetricFamily("trellis_topics", "Topics that this node takes part in.", len(courses)),
            GaugeMetricFamily(
                "trellis_waves_under_way",
                "Waves of this node that are not answered yet.",
                sum(waves),
            ),
            GaugeMetricFamily(
                "trellis_messages_unsettled",
                "Messages accepted here that somebody may not have yet.",
                sum(course.outgoing.messages for course in courses),
            ),
            GaugeMetricFamily(
                "trellis_reader_backlog",
                "Messages that wait for readers of this node.",
                sum(reader.messages for reader in readers),
            ),
            GaugeMetricFamily("trellis_members", "Members that have not left, this one too.", len(members)),
            GaugeMetricFamily("trellis_members_reached", "Members that are there.", len(node.host.reached)),
            GaugeMetricFamily("trellis_roster_sum", "The same where the same members are known.", roster_sum(node)),
            GaugeMetricFamily("trellis_links", "Links to members.", len(node.members.peers.known)),
            GaugeMetricFamily("trellis_links_most", "Links to members, the most at one time.", tally.links_most),
            CounterMetricFamily(
                "trellis_waiting_dropped", "Packets to members without a link that were dropped.", tally.dropped
            ),
            CounterMetricFamily("trellis_suspicions", "Links lost without a goodbye.", tally.suspicions),
            CounterMetricFamily("trellis_restores", "Links to members that came to stand.", tally.restores),
            queues,
            stamps,
            closed,
            CounterMetricFamily("trellis_frames_refused", "Links ended for senseless bytes.", closings.refused()),
        ]


def roster_sum(node: Node) -> int:
    """As much of the checksum as a number in Prometheus holds."""
    return int(node.members.roster.sum()[:12], 16)


class Silent(WSGIRequestHandler):
    """Says nothing on standard error, and does not wait for ever."""

    server: Quiet
    timeout = REQUEST_MAX  # of one read, or of all that one write takes

    def setup(self) -> None:
        super().setup()
        self.patience = Timer(REQUEST_MAX, self.hang_up)  # for all reads together
        self.patience.daemon = True
        self.patience.start()
        self.server.asking = self
        if self.server.closing:
            self.hang_up()

    def parse_request(self) -> bool:
        whole = super().parse_request()
        self.heard()
        return whole

    def finish(self) -> None:
        self.heard()
        super().finish()

    def heard(self) -> None:
        """The request is in, or will not come."""
        self.patience.cancel()
        self.server.asking = None

    def hang_up(self) -> None:
        with suppress(OSError):  # the asker was faster
            self.connection.shutdown(SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Quiet(WSGIServer):
    asking: Silent | None = None  # whose request is not in yet
    closing = False

    def close_soon(self) -> None:
        """Wait for no request any more. Called in another thread than requests are taken in."""
        self.closing = True
        if (asking := self.asking) is not None:
            asking.hang_up()
        self.shutdown()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An asker that went away, or a node that ended meanwhile: nobody waits for an answer."""


class Endpoint:
    """An HTTP server, and a thread of its own once it is to answer."""

    def __init__(self, server: Quiet) -> None:
        self.server = server
        self.address = written(server.server_address)
        self.thread: Thread | None = None

    def begin(self) -> None:
        self.thread = Thread(target=self.server.serve_forever, args=(POLL,), name="trellis-metrics", daemon=True)
        self.thread.start()

    async def close(self) -> None:
        """Whoever has asked still gets an answer, within `ANSWER_MAX`; whoever is about to ask is left."""
        if self.thread is not None:
            await asyncio.to_thread(self.server.close_soon)
        self.server.server_close()


async def show(node: Node, address: str) -> Endpoint:
    """Serve /metrics of a node at `host:port`. It may be started after this, but before `begin`."""
    host, port = await looked_up(address)
    registry = CollectorRegistry()
    registry.register(Gauges(node))
    try:
        server = make_server(host, port, make_wsgi_app(registry), Quiet, Silent)
    except OSError as error:
        raise NetworkError(
            f"metrics at {address}: cannot be listened at ({error.strerror or error}); give another"
        ) from None
    return Endpoint(server)

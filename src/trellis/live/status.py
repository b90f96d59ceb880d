"""What a node says of itself: members, topics, windows, queues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trellis.live.api import Node


def report(node: Node) -> dict[str, Any]:
    """Plain values, for JSON."""
    members, host = node.members, node.host
    return {
        "place": node.place,
        "incarnation": node.incarnation,
        "address": node.address,
        "cluster": members.roster.cluster,
        "overlay": node.overlay,
        "links": len(members.peers.known),
        "links_most": host.tally.links_most,
        "waiting_dropped": host.tally.dropped,
        "members": [
            {
                "place": member.place,
                "incarnation": member.incarnation,
                "address": member.address,
                "name": member.name,
                "reached": member.place in host.reached or member.place == node.place,
                "linked": members.peers.link_to(member.place) is not None or member.place == node.place,
                "queued_bytes": queued(node, member.place),
            }
            for member in members.roster.present()
        ],
        "stamps": {"plain_bytes": host.tally.stamps.plain, "sent_bytes": host.tally.stamps.sent},
        "topics": [topic_report(node, topic) for topic in sorted(node.courses)],
    }


def queued(node: Node, place: int) -> int:
    link = node.members.peers.link_to(place)
    return link.queued if link is not None else 0


def topic_report(node: Node, topic: str) -> dict[str, Any]:
    course = node.courses[topic]
    overlay = node.host.overlay(course.stack)
    return {
        "topic": topic,
        "order": course.order,
        "subscribers": sorted({*overlay.others_in(topic), node.place}) if overlay is not None else [],
        "readers": len(course.readers),
        "reader_messages_waiting": sum(reader.messages_of.get(topic, 0) for reader in course.readers),
        "waves_under_way": overlay.under_way(topic) if overlay is not None else 0,
        "messages_unsettled": course.outgoing.messages,
    }

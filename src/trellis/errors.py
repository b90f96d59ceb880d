"""What can go wrong, by whose fault it is.

A message names the thing, the value, the rule and the way out, in that order.
"""

from __future__ import annotations


class TrellisError(Exception):
    """Any error that Trellis raises on purpose."""


class ScenarioError(TrellisError):
    """What was asked for cannot be run."""


class TraceError(TrellisError):
    """A trace on disk is missing, torn, or not one of ours."""


class PipelineError(TrellisError):
    """A table, a grid, a public trace or Spark itself is not as it must be."""


class KeysError(TrellisError):
    """A key, a certificate or the directory of them is missing, unsafe, or not one of ours."""


class NetworkError(TrellisError):
    """An address cannot be listened at or reached, or may not be."""


class AddressError(NetworkError):
    """An address that makes no sense, may not be used or is taken: to try it again does not help."""


class StateError(TrellisError):
    """A data directory is in use, torn, full, or not one of ours."""


class ClusterError(TrellisError):
    """A cluster of processes on this machine cannot be started, found or stopped as was asked."""


class LocalProtocolError(TrellisError):
    """The caller broke the contract of a machine. The machine's state is as it was."""


class UnexpectedEvent(LocalProtocolError):
    """An event that this machine has no rule for."""

    def __init__(self, machine: object, event: object) -> None:
        super().__init__(f"{type(machine).__name__} has no rule for {event!r}")


class BarrierTooLong(LocalProtocolError):
    """A message that would directly follow more others than a packet may name."""


class NotSubscribed(LocalProtocolError):
    """Only a subscriber of a topic publishes on it or leaves it."""


class AlreadySubscribed(LocalProtocolError):
    """A second subscription of the same node to the same topic."""


class RemoteProtocolError(TrellisError):
    """A peer sent something senseless: drop it, note it, carry on."""


class InvariantViolation(TrellisError):
    """We are wrong: stop, and show the story."""


class UnsupportedByEngine(TrellisError):
    """The chosen engine has no twin for this scenario; the reference engine does."""

"""A cluster of processes on this machine: started, harmed and stopped, for `trellis cluster`, the demo and tests.

    with Cluster.create(directory, nodes=4) as cluster:     # mTLS: keys are made in directory/keys
        cluster.up()                                        # every node sees all others when this returns
        node = cluster.nodes[0]
        async with trellis.connect(f"trellis://{node.address}", **cluster.credentials) as client: ...
        cluster.kill(2)                                     # kill -9
        cluster.restart(2)                                  # comes back with its data: same place, next incarnation
        cluster.restart(3, keep=False)                      # comes back as new
        cluster.pause(1); cluster.resume(1)                 # SIGSTOP, SIGCONT
        cluster.stop(0)                                     # SIGTERM: in good order, keeps its place
        cluster.await_seen()                                # until all that run see each other
        cluster.grow(6)                                     # two more, which `up` starts, with whoever else is dead
    # the end of the block stops all; then `trellis audit directory`

Promises: `directory/cluster.json` says at any time which processes run, so that another program can open the cluster.
          Each node has its log, data and trace in `directory/node-XX/`.
          Only one program at a time starts or stops it as a whole; another one is refused.
Assumes:  one program at a time changes single nodes. Calls wait: within an event loop, use `asyncio.to_thread`.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Annotated, TypedDict

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from trellis.errors import ClusterError
from trellis.live import keys
from trellis.live.links import LINKS, bound
from trellis.live.processes import PAUSE, await_ready, await_state, born, ended_well, send, spawn, state_of
from trellis.live.tls import Identity
from trellis.protocols import MESH, check_linked

FILE, LOCK = "cluster.json", "cluster.lock"
KEYS, LOG, DATA, TRACE = "keys", "log", "data", "trace"
CLIENT = "client"  # the name of the certificate for pub, sub and status
NODES_MAX = 1000
LOOPBACK = "127.0.0.1:0"
READY_MAX = 60.0  # seconds for a process to be a member
SEEN_MAX = 60.0  # seconds for all to see all
ENDED_MAX = 15.0  # seconds to end in good order


class Credentials(TypedDict):
    keys: Path | None
    name: str | None
    plaintext: bool


class Entry(msgspec.Struct):
    """One node, as cluster.json has it."""

    name: str
    directory: str  # within the cluster's
    pid: int = 0  # 0: not started, or stopped
    born: str = ""
    place: int = -1
    incarnation: int = -1
    address: str = ""
    metrics: str = ""

    @property
    def state(self) -> str:
        """running, stopped, or dead."""
        return state_of(self.pid, self.born)

    def send(self, number: signal.Signals) -> None:
        send(self.pid, self.born, number)

    def await_state(self, state: str, patience: float) -> bool:
        return await_state(self.pid, self.born, state, time.monotonic() + patience)


class Known(msgspec.Struct):
    """What cluster.json holds."""

    plaintext: bool
    keys: str
    trace: bool
    nodes: Annotated[list[Entry], msgspec.Meta(min_length=1)]
    overlay: str = MESH  # how the members are linked
    links: int = LINKS  # then at most, if not each to all
    at_rest: bool = False  # nothing was left to happen when it ended: who used it has said so


class Cluster:
    """N nodes on loopback."""

    def __init__(self, directory: Path, known: Known) -> None:
        self.directory = directory
        self.known = known
        self.nodes = known.nodes

    @classmethod
    def create(
        cls,
        directory: Path,
        nodes: int,
        plaintext: bool = False,
        keys: Path | None = None,
        trace: bool = True,
        overlay: str = MESH,
        links: int = LINKS,
    ) -> Cluster:
        """A new cluster in a new directory, not started yet. With `keys`, there must be certificates of all names."""
        if (directory / FILE).exists():
            raise ClusterError(f"{directory}: there is a cluster already; open it, or give a new directory")
        check_number(nodes)
        check_linked(overlay)
        bound(links)
        check_free(directory)
        if plaintext and keys is not None:
            raise ClusterError(f"keys {keys} and plaintext: one of them")
        entries = [entry(index) for index in range(nodes)]
        where = "" if plaintext else str(keys.absolute()) if keys is not None else KEYS
        made = cls(directory, Known(plaintext, where, trace, entries, overlay, links))
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if where == KEYS:
                make_keys(directory / KEYS, [entry.name for entry in entries])
            made.write()
        except OSError as error:
            raise ClusterError(f"{directory}: cannot be written ({error.strerror}); give another directory") from None
        return made

    @classmethod
    def open(cls, directory: Path) -> Cluster:
        """One that was made before."""
        path = directory / FILE
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ClusterError(f"{path}: not a plain file; give the directory of a cluster")
        try:
            return cls(directory, msgspec.json.decode(path.read_bytes(), type=Known))
        except OSError as error:
            raise ClusterError(f"{path}: {error.strerror}; start one with `trellis cluster up --dir DIR`") from None
        except msgspec.DecodeError as error:
            raise ClusterError(f"{path}: not a cluster's ({error}); give the directory of a cluster") from None

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @property
    def keys(self) -> Path | None:
        """Where the certificates are; None in plaintext."""
        return None if self.known.plaintext else self.directory / self.known.keys

    @property
    def credentials(self) -> Credentials:
        """What a client gives to `trellis.connect` beside the address."""
        if self.keys is None:
            return {"keys": None, "name": None, "plaintext": True}
        return {"keys": self.keys, "name": CLIENT, "plaintext": False}

    @property
    def running(self) -> list[Entry]:
        return [node for node in self.nodes if node.state == "running"]

    # All of them

    def up(self, progress: Callable[[int], None] = lambda _: None) -> list[Entry]:
        """Start all that do not run, wait until all see all, and name whom it started. None is left if that fails."""
        with self.alone():
            dead, running = [node for node in self.nodes if node.state == "dead"], self.running
            names = {node.name for node in dead}  # another program may have started them since this one looked
            if not all(node.state == "dead" for node in Cluster.open(self.directory).nodes if node.name in names):
                dead = []
            if not dead:
                raise ClusterError(f"{self.directory}: it runs already; see `trellis cluster status`")
            first = [] if running else dead[:1]
            try:
                self.start(first, None, progress)
                door = (running or first)[0].address
                self.start(dead[len(first) :], door, lambda done: progress(len(first) + done))
                self.await_seen()
            except BaseException:
                self.end(dead, patience=2.0)
                raise
            return dead

    def grow(self, nodes: int) -> None:
        """To so many: `up` starts the new ones."""
        check_number(nodes)
        new = [entry(index) for index in range(len(self.nodes), nodes)]
        if self.keys is not None:
            for one in new:
                if self.known.keys == KEYS:
                    keys.issue(self.keys, one.name)
                else:
                    Identity(self.keys, one.name)  # or it says what is missing
        self.nodes += new
        self.write()

    def down(self, patience: float = ENDED_MAX) -> list[Entry]:
        """End all in good order; those that did not end in time are killed, and come back."""
        with self.alone():
            return self.end(self.nodes, patience)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Two programs that start and stop it at once would leave processes behind that cluster.json does not name."""
        try:
            held = os.open(self.directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise ClusterError(f"{self.directory}: cannot be written ({error.strerror}); give another") from None
        try:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterError(f"{self.directory}: another program starts or stops it now; wait for it") from None
            yield
        finally:
            os.close(held)

    def come_to_rest(self) -> None:
        """Whoever used it says that nothing was left to happen. It is remembered until a node starts again."""
        self.known.at_rest = True
        self.write()

    def await_seen(self, patience: float = SEEN_MAX) -> None:
        """Until each that runs sees all others that run: has links to them, or, on demand, knows them and has any."""
        limit = time.monotonic() + patience
        while unseen := self.unseeing():
            if time.monotonic() > limit:
                raise ClusterError(f"{unseen[0].name}: it does not see all others within {patience:g} s; see its log")
            time.sleep(PAUSE)

    def unseeing(self) -> list[Entry]:
        running = self.running
        others, shown = len(running) - 1, [measured(node) for node in running]
        if self.known.overlay == MESH:
            seen = [found.get("trellis_members_reached", -1) >= others for found in shown]
        else:
            known = shown[0].get("trellis_roster_sum") if shown else None
            same = [found.get("trellis_roster_sum") == known for found in shown]
            linked = [found.get("trellis_links", -1) >= min(others, 1) for found in shown]
            whole = [found.get("trellis_members", -1) > others for found in shown]
            seen = [all(tests) for tests in zip(same, linked, whole, strict=True)]
        return [node for node, sees in zip(running, seen, strict=True) if not sees]

    def end(self, nodes: list[Entry], patience: float) -> list[Entry]:
        limit = time.monotonic() + patience
        for node in nodes:
            node.send(signal.SIGTERM)
            node.send(signal.SIGCONT)
        late = [node for node in nodes if not node.await_state("dead", limit - time.monotonic())]
        for node in late:
            node.send(signal.SIGKILL)
            node.await_state("dead", ENDED_MAX)
        for node in nodes:
            node.pid = 0
        self.write()
        return late

    # One of them

    def told(self, node: Entry) -> str:
        """How it is, in a word: running, paused, stopped (in good order), dead, or new (never started)."""
        if node.state == "dead":
            well = ended_well(self.directory / node.directory / LOG)
            return "new" if node.place < 0 else "stopped" if well else "dead"
        return "paused" if node.state == "stopped" else "running"

    def kill(self, index: int) -> None:
        """kill -9."""
        node = self.nodes[index]
        node.send(signal.SIGKILL)
        node.await_state("dead", ENDED_MAX)

    def stop(self, index: int, patience: float = ENDED_MAX) -> None:
        """SIGTERM, and wait."""
        node = self.nodes[index]
        node.send(signal.SIGTERM)
        if not node.await_state("dead", patience):
            raise ClusterError(f"{node.name}: it has not ended within {patience:g} s; see its log")

    def pause(self, index: int) -> None:
        """SIGSTOP."""
        self.nodes[index].send(signal.SIGSTOP)
        self.nodes[index].await_state("stopped", ENDED_MAX)

    def resume(self, index: int) -> None:
        """SIGCONT."""
        self.nodes[index].send(signal.SIGCONT)
        self.nodes[index].await_state("running", ENDED_MAX)

    def restart(self, index: int, keep: bool = True) -> Entry:
        """Start one that does not run: with its data, or as a new node that has only the name."""
        node = self.nodes[index]
        if node.state != "dead":
            raise ClusterError(f"{node.name}: it is {node.state}; stop or kill it first")
        if not keep:  # a directory of its own: its trace begins with incarnation 0 again
            lives = sum(path.is_dir() for path in self.directory.glob(f"{node.name}*"))
            node.directory = f"{node.name}.{lives}"
        others = [other.address for other in self.running]
        self.start([node], others[0] if others else None)
        return node

    # How

    def start(self, nodes: Iterable[Entry], join: str | None, progress: Callable[[int], None] = lambda _: None) -> None:
        """Start them all at once; who joins does so at `join`."""
        started: list[tuple[Entry, subprocess.Popen[bytes], Path]] = []
        self.known.at_rest = False
        try:
            for node in nodes:
                place = self.directory / node.directory
                place.mkdir(exist_ok=True)
                process = spawn(self.arguments(node, join), place / LOG)
                node.pid, node.born = process.pid, born(process.pid)
                started.append((node, process, place / LOG))
            for done, (node, process, log) in enumerate(started, 1):
                ready = await_ready(process, log, READY_MAX)
                node.place, node.incarnation = ready.place, ready.incarnation
                node.address, node.metrics = ready.address, ready.metrics
                progress(done)
        except OSError as error:
            raise ClusterError(f"{self.directory}: {error.strerror}; give another directory") from None
        finally:
            self.write()

    def arguments(self, node: Entry, join: str | None) -> list[str]:
        place = self.directory / node.directory
        found = ["--listen", LOOPBACK, "--metrics", LOOPBACK, "--data", str(place / DATA)]
        found += ["--plaintext"] if self.keys is None else ["--keys", str(self.keys), "--name", node.name]
        found += ["--trace", str(place / TRACE)] if self.known.trace else []
        if self.known.overlay != MESH:
            found += ["--overlay", self.known.overlay, "--links", str(self.known.links)]
        return found + (["--join", join] if join is not None else [])

    def write(self) -> None:
        """All of it or nothing: others may read it meanwhile."""
        new = self.directory / f"{FILE}.new"
        new.write_bytes(msgspec.json.format(msgspec.json.encode(self.known)) + b"\n")
        os.replace(new, self.directory / FILE)


def entry(index: int) -> Entry:
    return Entry(name := f"node-{index:02}", name)


def check_number(nodes: int) -> None:
    if not 1 <= nodes <= NODES_MAX:
        raise ClusterError(f"nodes = {nodes}: from 1 to {NODES_MAX} on one machine")


def check_free(directory: Path) -> None:
    """Whether a cluster may be made there: nothing of others is mixed with it."""
    try:
        taken = directory.exists() and any(directory.iterdir())
    except OSError as error:
        raise ClusterError(f"{directory}: {error.strerror}; give a new directory") from None
    if taken:
        raise ClusterError(f"{directory}: not empty and not a cluster's; give a new directory")


def make_keys(directory: Path, names: Iterable[str]) -> None:
    keys.init(directory)
    for name in names:
        keys.issue(directory, name)
    keys.issue(directory, CLIENT, client=True)


def measured(node: Entry, patience: float = 2.0) -> dict[str, float]:
    """What its endpoint shows of numbers without labels; nothing if it does not answer."""
    if not node.metrics:
        return {}
    try:
        with urllib.request.urlopen(f"http://{node.metrics}/metrics", timeout=patience) as answer:
            text = answer.read().decode()
    except (OSError, ValueError):
        return {}
    return {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.labels
    }

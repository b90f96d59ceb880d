"""Who is at the other end: TLS 1.3 with certificates on both sides.

Promises: a handshake ends well only with a peer that has a key of the same authority, not expired, for the purpose that
          it is used for; who the peer is, is the exact name in its certificate, and nothing that it says later.
          A certificate of one's own that no peer would take is refused before anything is dialled (`identity`).
Assumes:  the files of one node stand in one directory: `ca.crt`, `NAME.crt`, `NAME.key` (see keys.py).
Departs:  a dialler does not compare the certificate with the host it dialled. Addresses change and are hearsay among
          members; a name for a place is not. Whoever dials checks the name (`link.peer`), as the roster has it, after
          the handshake. There is no resumption, because a resumed session would not look at the certificate again.

In TLS 1.3 a dialler's handshake is done before the listener has looked at its certificate. If that is refused, the
dialler sees its link open and then close.
"""

from __future__ import annotations

import re
import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trellis.errors import KeysError, LocalProtocolError, RemoteProtocolError

if TYPE_CHECKING:
    from cryptography import x509

AUTHORITY = "ca"  # the name of its files, and so no name for others
NAME = re.compile(r"[a-z0-9-]{1,63}")
IDENTIFIER = re.compile(rf"trellis:(node|client):({NAME.pattern})")
READ_MAX = 1 << 18  # plaintext bytes at once


class Stranger(RemoteProtocolError):
    """A peer whose certificate does not say who it is, or whose handshake failed."""


class Peer(NamedTuple):
    """Whom a certificate names."""

    name: str
    node: bool  # or a client
    until: float  # seconds of the epoch: when the certificate ends


class Identity:
    """What a process proves itself with, and by what it knows others."""

    def __init__(self, directory: Path, name: str) -> None:
        check_name(name)
        self.name = name
        self.server = context(ssl.PROTOCOL_TLS_SERVER, directory, name)
        self.client = context(ssl.PROTOCOL_TLS_CLIENT, directory, name)


def check_name(name: str) -> None:
    if not NAME.fullmatch(name) or name == AUTHORITY:
        raise KeysError(f"name {name!r}: 1 to 63 of a-z, 0-9 and -, and not {AUTHORITY!r}; choose another")


def identifier(name: str, client: bool) -> str:
    """How a certificate says whose it is."""
    return f"trellis:{'client' if client else 'node'}:{name}"


def identity(keys: Path | str | None, name: str | None, plaintext: bool, node: bool = False) -> Identity | None:
    """By what a program is told to prove itself; None where it says in so many words that it need not."""
    if (keys is None) != plaintext:
        raise LocalProtocolError(
            "keys and plaintext: give a directory of keys (see `trellis keys`), or plaintext=True on loopback"
        )
    if keys is None:
        return None
    if name is None:
        raise LocalProtocolError("name is missing: with keys, say whose certificate is to be shown")
    made = Identity(Path(keys), name)
    hold_usable(Path(keys), name, node)
    return made


def hold_usable(directory: Path, name: str, node: bool) -> None:
    """Others would refuse it by closing the link, which says little: what is wrong with one's own is said here."""
    from cryptography import x509  # only programs with keys need it

    path = directory / f"{name}.crt"
    try:
        authorities = x509.load_pem_x509_certificates((directory / f"{AUTHORITY}.crt").read_bytes())
        certificate, *chain = x509.load_pem_x509_certificates(path.read_bytes())
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = found.get_values_for_type(x509.UniformResourceIdentifier)
        issued = any(is_issued_by(certificate, one) for one in (*authorities, *chain))
    except (OSError, ValueError, x509.ExtensionNotFound) as error:
        raise KeysError(f"{path}: it cannot be used ({brief(error)}); issue another with `trellis keys`") from None
    now, begins, ends = datetime.now(UTC), certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not begins <= now <= ends:
        raise KeysError(f"{path}: it is good from {begins:%F %T} to {ends:%F %T} UTC; issue another, or set the clock")
    if not issued:
        raise KeysError(f"{path}: not of the authority in {AUTHORITY}.crt beside it; use files of one authority")
    if names not in ([identifier(name, client=True)], [identifier(name, client=False)]):
        raise KeysError(f"{path}: it is for {names!r:.200}, not for {name!r}; use the files under their own name")
    if node and names == [identifier(name, client=True)]:
        raise KeysError(f"{path}: a client's certificate, and a node needs a node's; issue one without --client")


def is_issued_by(certificate: x509.Certificate, other: x509.Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        certificate.verify_directly_issued_by(other)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def context(protocol: int, directory: Path, name: str) -> ssl.SSLContext:
    made = ssl.SSLContext(protocol)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        made.num_tickets = 0
    authority, certificate, key = (directory / f for f in (f"{AUTHORITY}.crt", f"{name}.crt", f"{name}.key"))
    for path in (authority, certificate, key):
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise KeysError(f"{path}: {error.strerror}; see `trellis keys issue --help`") from None
        if not stat.S_ISREG(mode):
            raise KeysError(f"{path}: not a plain file; see `trellis keys issue --help`")
        if path is key and mode & 0o077:
            raise KeysError(f"{path}: others may read this key (mode {mode & 0o777:o}); chmod 600 it")
    try:
        made.load_verify_locations(authority)
        made.load_cert_chain(certificate, key, password="")  # never ask at the terminal
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise KeysError(f"{directory}: the keys of {name!r} cannot be used ({brief(error)}); issue others") from None
    return made


def peer(ssl_object: ssl.SSLObject) -> Peer:
    """Who it is, by the one name of ours in its certificate."""
    certificate = ssl_object.getpeercert() or {}
    names = [str(entry[1]) for entry in certificate.get("subjectAltName", ())]
    found = IDENTIFIER.fullmatch(names[0]) if len(names) == 1 else None
    if found is None:
        raise Stranger(f"a certificate for {names!r:.200}: it must name one node or one client")
    return Peer(found[2], found[1] == "node", ssl.cert_time_to_seconds(str(certificate["notAfter"])))


class Channel:
    """TLS over bytes, without a socket: what came from the peer goes in, what must go to it comes out."""

    __slots__ = ("incoming", "outgoing", "ready", "tls")

    def __init__(self, identity: Identity, dialled: bool) -> None:
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        made = identity.client if dialled else identity.server
        self.tls = made.wrap_bio(self.incoming, self.outgoing, server_side=not dialled)
        self.ready = False  # the handshake is done

    def shake(self) -> None:
        """Go on with the handshake, as far as it goes."""
        try:
            self.tls.do_handshake()
            self.ready = True
        except ssl.SSLWantReadError:
            pass
        except (ssl.SSLError, ValueError) as error:
            raise Stranger(f"no handshake: {brief(error)}") from None

    def open(self, data: bytes) -> bytes:
        """What the peer says with these bytes. Nothing while the handshake lasts."""
        self.incoming.write(data)
        if not self.ready:
            self.shake()
            if not self.ready:
                return b""
        parts = []
        try:
            while part := self.tls.read(READ_MAX):
                parts.append(part)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:  # it says no more; its connection ends next
            pass
        except ssl.SSLError as error:
            raise Stranger(f"broken TLS: {brief(error)}") from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def seal(self, data: bytes) -> bytes:
        """The bytes that say this to the peer."""
        try:
            self.tls.write(data)
        except ssl.SSLError as error:  # it has said that it is over, and its connection ends next
            raise Stranger(f"the peer takes no more: {brief(error)}") from None
        return self.outgoing.read()


def brief(error: Exception) -> str:
    """Python's and OpenSSL's words, without the place in their sources."""
    return re.sub(r" \(_ssl\.c:\d+\)|\[[^]]*\] ?", "", str(error.args[-1] if error.args else error))

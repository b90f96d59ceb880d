"""Real handshakes: who is let in, who is not, and under what name."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from links import LOOPS, Ear, identities, key_directory, run

from trellis.errors import KeysError, NetworkError
from trellis.live import keys, transport
from trellis.live.frames import Done
from trellis.live.tls import Channel, Identity, Stranger, peer
from trellis.live.transport import dial, listen


def handshake(client: Identity, server: Identity) -> tuple[Channel, Channel]:
    """Both ends, over memory, until nothing is left to say."""
    here, there = Channel(client, dialled=True), Channel(server, dialled=False)
    here.shake()
    while here.outgoing.pending or there.outgoing.pending:
        there.open(here.outgoing.read())
        here.open(there.outgoing.read())
    return here, there


def issued(directory: Path, name: str, *names: x509.GeneralName, by: str = keys.AUTHORITY) -> Identity:
    """A certificate with any names in it, or by another than the authority."""
    issuer = x509.load_pem_x509_certificate((directory / f"{by}.crt").read_bytes())
    signing = keys.load_pem_private_key((directory / f"{by}.key").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = keys.begun(subject, issuer.subject, key.public_key(), timedelta(days=1)).add_extension(
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    keys.write_pair(directory, name, key, builder.sign(signing, hashes.SHA256()))  # type: ignore[arg-type]
    return Identity(directory, name)


def uri(text: str) -> x509.GeneralName:
    return x509.UniformResourceIdentifier(text)


def test_both_ends_know_the_exact_name_of_the_other(tmp_path: Path) -> None:
    here, there = handshake(*identities(tmp_path / "k", "dialler", "listener"))
    assert peer(here.tls).name == "listener"
    assert peer(there.tls).name == "dialler"
    assert here.tls.version() == "TLSv1.3"
    assert there.open(here.seal(b"hello")) == b"hello"


def test_a_client_is_told_from_a_node_and_cannot_listen(tmp_path: Path) -> None:
    place = key_directory(tmp_path / "k", "node", client="reader")
    node, reader = Identity(place, "node"), Identity(place, "reader")
    _, there = handshake(reader, node)
    assert peer(there.tls)[:2] == ("reader", False)
    assert peer(handshake(node, node)[1].tls)[:2] == ("node", True)
    with pytest.raises(Stranger, match="unsuitable certificate purpose"):
        handshake(node, reader)


@pytest.mark.parametrize("who", ["dialler", "listener"])
def test_a_certificate_of_another_authority_is_refused(tmp_path: Path, who: str) -> None:
    [ours], [other] = identities(tmp_path / "k", "a"), identities(tmp_path / "l", "a")
    with pytest.raises(Stranger, match="certificate verify failed"):
        handshake(*((other, ours) if who == "dialler" else (ours, other)))


@pytest.mark.parametrize("who", ["dialler", "listener"])
def test_an_expired_certificate_is_refused(tmp_path: Path, who: str) -> None:
    place = key_directory(tmp_path / "k", "a")
    keys.issue(place, "old", lasts=timedelta(seconds=-2))
    fine, old = Identity(place, "a"), Identity(place, "old")
    with pytest.raises(Stranger, match="certificate has expired"):
        handshake(*((old, fine) if who == "dialler" else (fine, old)))


def test_a_certificate_that_a_member_signed_is_refused(tmp_path: Path) -> None:
    """Only the authority makes members."""
    place = key_directory(tmp_path / "k", "a")
    forged = issued(place, "forged", uri("trellis:node:a"), by="a")
    with pytest.raises(Stranger, match="certificate verify failed"):
        handshake(forged, Identity(place, "a"))


@pytest.mark.parametrize(
    "names",
    [
        [],
        [x509.DNSName("a")],
        [x509.DNSName("*")],
        [uri("trellis:node:*")],
        [uri("trellis:node:A")],
        [uri("trellis:node:a.b")],
        [uri("trellis:node:a%00b")],
        [uri("trellis:node:a ")],
        [uri("trellis:node:a\n")],
        [uri("trellis:node:")],
        [uri("trellis:node:" + "a" * 64)],
        [uri("xtrellis:node:a")],
        [uri("trellis:admin:a")],
        [uri("trellis:node:a"), uri("trellis:node:b")],
        [uri("trellis:node:a"), x509.DNSName("b")],
    ],
    ids=repr,
)
def test_a_certificate_that_names_nobody_exactly_is_refused(tmp_path: Path, names: list[x509.GeneralName]) -> None:
    """Though it is of our authority: near misses, wildcards, several names."""
    place = key_directory(tmp_path / "k", "a")
    _, there = handshake(issued(place, "odd", *names), Identity(place, "a"))
    with pytest.raises(Stranger, match="it must name one node or one client"):
        peer(there.tls)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_listener_does_not_open_links_to_those_it_refuses(loop: str, tmp_path: Path) -> None:
    """Another authority, no exact name, no certificate at all, an older TLS, plaintext; then an honest one."""
    place = key_directory(tmp_path / "k", "a", "b")
    [other] = identities(tmp_path / "l", "b")
    odd = issued(place, "odd", uri("trellis:node:*"))
    bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    bare.check_hostname, bare.verify_mode = False, ssl.CERT_NONE
    older = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    older.check_hostname, older.verify_mode = False, ssl.CERT_NONE
    older.load_cert_chain(place / "b.crt", place / "b.key")
    older.maximum_version = ssl.TLSVersion.TLSv1_2

    async def refused_in_tls(context: ssl.SSLContext, host: str, port: str) -> None:
        with suppress(ssl.SSLError, ConnectionError):  # in its handshake, or after it
            reader, _ = await asyncio.open_connection(host, int(port), ssl=context)
            assert await reader.read() == b""

    async def story() -> None:
        ear = Ear()
        server = await listen("127.0.0.1:0", ear, Identity(place, "a"))
        host, _, port = server.address.partition(":")
        for stranger in (other, odd):
            there = Ear()
            try:
                await dial(server.address, there, stranger, 5)
            except NetworkError:
                continue
            await there.until(lambda e: e.ends)
        await refused_in_tls(bare, host, port)
        await refused_in_tls(older, host, port)
        plaintext = Ear()
        link = await dial(server.address, plaintext, None, 5)
        link.send(Done(1))
        await plaintext.until(lambda e: e.ends)
        assert ear.heard == []
        honest = await dial(server.address, Ear(), Identity(place, "b"), 5)
        assert (await ear.until(lambda e: e.links))[0].peer == "b"
        honest.close("")
        server.close()

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_dialler_refuses_a_listener_of_another_authority(loop: str, tmp_path: Path) -> None:
    [ours], [other] = identities(tmp_path / "k", "a"), identities(tmp_path / "l", "a")

    async def story() -> None:
        server, ear = await listen("127.0.0.1:0", Ear(), other), Ear()
        with pytest.raises(NetworkError, match="certificate verify failed"):
            await dial(server.address, ear, ours, 5)
        assert ear.heard == []
        server.close()

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_link_ends_when_the_certificate_of_its_peer_does(
    loop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = key_directory(tmp_path / "k", "a")
    keys.issue(place, "b", lasts=timedelta(days=9))
    ends = x509.load_pem_x509_certificate((place / "b.crt").read_bytes()).not_valid_after_utc.timestamp()
    monkeypatch.setattr(transport, "time", SimpleNamespace(time=lambda: ends - 0.05))

    async def story() -> None:
        ear, other = Ear(), Ear()
        server = await listen("127.0.0.1:0", ear, Identity(place, "a"))
        await dial(server.address, other, Identity(place, "b"), 5)
        await other.until(lambda e: e.ends)
        assert [reason for _, reason in ear.ends] == ["the certificate of the peer has expired"]
        server.close()

    run(loop, story())


# What stands in the directory.


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    place = key_directory(tmp_path / "k", "a")
    modes = {path.name: path.stat().st_mode & 0o777 for path in place.iterdir()}
    assert modes["ca.key"] == modes["a.key"] == 0o600
    assert place.stat().st_mode & 0o777 == 0o700
    (place / "a.key").chmod(0o640)
    with pytest.raises(KeysError, match="others may read this key"):
        Identity(place, "a")


def test_keys_that_are_missing_or_do_not_fit_are_refused(tmp_path: Path) -> None:
    place = key_directory(tmp_path / "k", "a", "b")
    with pytest.raises(KeysError, match=r"c\.crt: No such file"):
        Identity(place, "c")
    with pytest.raises(KeysError, match=r"name '\.\./a'"):
        Identity(place, "../a")
    (place / "a.key").write_bytes((place / "b.key").read_bytes())
    with pytest.raises(KeysError, match="cannot be used"):
        Identity(place, "a")
    (place / "b.crt").write_bytes(b"")
    with pytest.raises(KeysError, match="cannot be used"):
        Identity(place, "b")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_link_that_is_refused_after_its_handshake_ends_while_it_is_written_to(loop: str, tmp_path: Path) -> None:
    """The dialler's certificate has ended. `run` holds that no callback of the loop fails."""
    place = key_directory(tmp_path / "k", "a")
    keys.issue(place, "old", lasts=timedelta(seconds=-2))

    async def story() -> None:
        server = await listen("127.0.0.1:0", Ear(), Identity(place, "a"))
        ear = Ear()
        link = await dial(server.address, ear, Identity(place, "old"), 5.0)
        while link.reason is None:
            link.send(Done(1))
            await asyncio.sleep(0)
        assert await ear.until(lambda ear: ear.ends)
        server.close()

    run(loop, story())

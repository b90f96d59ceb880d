"""A small certificate authority: one directory, one authority, one certificate for each node and each client.

Promises: nothing is ever overwritten; a private key is readable by its owner only, from the moment it is there; a name
          is made of `a-z 0-9 -` (so no wildcard, no path, no look-alike), and stands in the certificate once, as what
          it is: `trellis:node:NAME` or `trellis:client:NAME`. A client's certificate serves to dial, never to listen.
Assumes:  whoever reads `ca.key` is the authority: issue where it is kept, and give a node only `ca.crt` and its own two
          files.
Departs:  there is no list of revoked certificates. They are short-lived (`DAYS`); to renew one, move its files away and
          issue again; to revoke one before its time, begin a new authority.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trellis.errors import KeysError
from trellis.live.tls import AUTHORITY, check_name, identifier

DAYS = 365  # of a certificate
AUTHORITY_DAYS = 3650
EARLIER = timedelta(hours=1)  # how far the clock of a peer may be behind


def init(directory: Path) -> None:
    """Make a directory with a new authority."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(directory.iterdir()):
            raise KeysError(f"{directory}: not empty; give a new directory, nothing is overwritten")
        directory.chmod(0o700)
    except OSError as error:
        raise KeysError(f"{directory}: cannot be made ({error.strerror or error}); give another directory") from None
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "trellis")])
    usage = key_usage(signs_certificates=True)
    certificate = (
        begun(name, name, key.public_key(), timedelta(days=AUTHORITY_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    write_pair(directory, AUTHORITY, key, certificate)


def issue(directory: Path, name: str, client: bool = False, lasts: timedelta = timedelta(days=DAYS)) -> None:
    """Make a key and a certificate for a node, or for a client."""
    check_name(name)
    authority, authority_key = read_authority(directory)
    key = ec.generate_private_key(ec.SECP256R1())
    purposes = [ExtendedKeyUsageOID.CLIENT_AUTH] + ([] if client else [ExtendedKeyUsageOID.SERVER_AUTH])
    certificate = (
        begun(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), authority.subject, key.public_key(), lasts)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.UniformResourceIdentifier(identifier(name, client))]), critical=False
        )
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    write_pair(directory, name, key, certificate)


def begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, lasts: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + lasts) - EARLIER)
        .not_valid_after(now + lasts)
    )


def key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def read_authority(directory: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    path = directory / f"{AUTHORITY}.key"
    for file in (path, path.with_suffix(".crt")):
        if file.exists() and not file.is_file():  # a pipe would be waited for
            raise KeysError(f"{file}: not a plain file; make an authority with `trellis keys init`")
    try:
        certificate = x509.load_pem_x509_certificate((directory / f"{AUTHORITY}.crt").read_bytes())
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise KeysError(f"{error.filename}: {error.strerror}; make an authority with `trellis keys init`") from None
    except (ValueError, TypeError):
        raise KeysError(f"{directory}: its authority cannot be read; make another with `trellis keys init`") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise KeysError(f"{path}: not the key of the certificate beside it; make another with `trellis keys init`")
    return certificate, key


def write_pair(directory: Path, name: str, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    """Both files or none; neither may be there."""
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pair = ((directory / f"{name}.key", secret, 0o600), (directory / f"{name}.crt", pem(certificate), 0o644))
    made: list[Path] = []
    try:
        for path, content, mode in pair:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode), "wb") as file:
                made.append(path)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        for path in made:
            path.unlink(missing_ok=True)
        if isinstance(error, FileExistsError):
            raise KeysError(f"{error.filename}: it is there already; move it away to issue another") from None
        raise KeysError(f"{directory}: {name} cannot be written ({error.strerror or error})") from None


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)

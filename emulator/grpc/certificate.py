"""A self-signed certificate for this emulator. It is kept across restarts, so that clients continue to trust it.

gRPC clients read their trusted certificates once per process, so a new certificate at each start would require a
restart of every open notebook. Only its owner can read the key, as everything in the state folder.
"""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from emulator.state import private

CERTIFICATE_FILE, KEY_FILE = "grpc-certificate.pem", "grpc-key.pem"
VALID_DAYS, RENEWED_DAYS = 90, 30
"""Validity of a certificate, and how long before its end it is replaced."""


class Certificate(NamedTuple):
    """A certificate and its key in PEM, and the certificate's file for clients."""

    pem: bytes
    key: bytes
    file: Path


def load_or_create(state: Path, hosts: list[str], now: float) -> Certificate:
    """Return the certificate in the state folder if it is still usable, else create and store a new one.

    `hosts` are the names and IP addresses that clients use. `now` is in seconds since the epoch.
    """
    file, key_file = state / CERTIFICATE_FILE, state / KEY_FILE
    names = [_name(host) for host in hosts]
    moment = datetime.fromtimestamp(now, UTC)
    try:
        kept = Certificate(file.read_bytes(), key_file.read_bytes(), file)
        if _is_usable(kept, names, moment):
            return kept
    except (FileNotFoundError, ValueError):
        pass  # there is none, or only a part
    made = _create(names, moment, file)
    private.write_file(key_file, made.key)
    private.write_file(file, made.pem)
    return made


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _is_usable(kept: Certificate, names: list[x509.GeneralName], moment: datetime) -> bool:
    """Return whether a stored certificate is ours, names every host and is valid for a while."""
    read = x509.load_pem_x509_certificate(kept.pem)
    key = serialization.load_pem_private_key(kept.key, password=None)
    named = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    is_ours = read.public_key() == key.public_key()
    is_valid = read.not_valid_before_utc <= moment < read.not_valid_after_utc - timedelta(days=RENEWED_DAYS)
    return is_ours and is_valid and set(names) <= set(named)


def _create(names: list[x509.GeneralName], moment: datetime, file: Path) -> Certificate:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Trainboard emulator of Vertex AI")])
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(moment - timedelta(days=1))
        .not_valid_after(moment + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        # Not a CA: a client that trusts it trusts only this key for these names.
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Certificate(made.public_bytes(serialization.Encoding.PEM), private, file)

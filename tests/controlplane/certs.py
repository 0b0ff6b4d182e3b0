"""Keys and certificates of one control plane: made for it, and worth nothing after it."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

VALID = timedelta(days=2)
PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Papers:
    """The files that programs and clients are told of.

    `folder` holds the certificate of all servers as `tls.crt` and `tls.key`, the names that
    controller-runtime asks for.
    """

    folder: Path

    @property
    def authority(self) -> Path:
        """Certificate that signs the servers'."""
        return self.folder / "ca.crt"

    @property
    def server(self) -> Path:
        """Certificate of everything that serves here."""
        return self.folder / "tls.crt"

    @property
    def server_key(self) -> Path:
        """Its key."""
        return self.folder / "tls.key"

    @property
    def tokens_public(self) -> Path:
        """Key that checks the tokens of service accounts."""
        return self.folder / "sa.pub"

    @property
    def tokens_private(self) -> Path:
        """Key that signs them."""
        return self.folder / "sa.key"


def make_papers(folder: Path) -> Papers:
    """Make all of them in a new folder that nobody else reads."""
    folder.mkdir(mode=0o700, parents=True)
    papers = Papers(folder)
    ca_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = _certificate("test authority", ca_key, signer=ca_key, issuer=None)
    server = _certificate("localhost", server_key, signer=ca_key, issuer=authority.subject)
    papers.authority.write_bytes(authority.public_bytes(PEM))
    papers.server.write_bytes(server.public_bytes(PEM))
    papers.server_key.write_bytes(_private(server_key))
    accounts = rsa.generate_private_key(65537, 2048)
    papers.tokens_private.write_bytes(_private(accounts))
    papers.tokens_public.write_bytes(
        accounts.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return papers


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    *,
    signer: ec.EllipticCurvePrivateKey,
    issuer: x509.Name | None,
) -> x509.Certificate:
    """Sign a certificate: an authority's own without an issuer, else one of loopback."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer or subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + VALID)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None:
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(signer, hashes.SHA256())


def _private(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )

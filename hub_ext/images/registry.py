"""Asks a registry (Docker's and OCI's v2 API) which image a tag names and what it says it holds.

Whatever comes back is compared with its digest before it is believed.
"""

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from http import HTTPStatus
from ipaddress import ip_address
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import parse_http_list, parse_keqv_list

from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest, HTTPResponse

from ..errors import GpuCommonsError, UnreachableError
from ..i18n import _
from ..lease import Value
from ..policy.model import Contents
from .contents import contents_of
from .credentials import Credentials
from .references import Reference

TIMEOUT_S = 20.0
"""How long one answer may take: a registry far away that is waking up."""

MOST_BYTES = 4 * 1024 * 1024
"""Longest manifest or configuration that is read; registries allow no longer manifests."""

_INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"^sha256:[0-9a-f]{64}$")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_HOPS = 4


class Inspected(Value):
    """Which image a tag names, and what its configuration says."""

    image: str
    tag: str
    digest: str
    contents: Contents


class Registries:
    """Asks registries; an asynchronous context manager, since it holds a client.

    Parameters
    ----------
    platform
        Whose image is looked into where a tag names one for each: `os/architecture`.
    """

    def __init__(self, credentials: Credentials, *, platform: str = "linux/amd64") -> None:
        self._credentials = credentials
        self._platform = platform
        self._client: AsyncHTTPClient | None = None
        self._tokens: dict[tuple[str, str], str] = {}

    async def __aenter__(self) -> Self:
        self._client = AsyncHTTPClient(force_instance=True, max_body_size=MOST_BYTES)
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._client is not None:
            self._client.close()

    async def digest(self, wanted: Reference) -> str:
        """Tell the digest that a tag names now.

        Raises
        ------
        UnreachableError
            When the registry does not answer, or not as a registry does.
        GpuCommonsError
            When it has no such image, or does not let us see it.
        """
        digest, _manifest = await self._manifest(wanted, wanted.tag)
        return digest

    async def inspect(self, wanted: Reference) -> Inspected:
        """Tell the digest that a tag names now, and what the image says it holds.

        Raises
        ------
        UnreachableError, GpuCommonsError
            As `digest`; also when there is no image for the platform.
        """
        digest, manifest = await self._manifest(wanted, wanted.tag)
        if manifest.get("mediaType") in _INDEXES or "manifests" in manifest:
            _same, manifest = await self._manifest(wanted, self._of_platform(wanted, manifest))
        inner = manifest.get("config")
        config = inner.get("digest") if isinstance(inner, Mapping) else None
        if not isinstance(config, str) or not _DIGEST.fullmatch(config):
            raise _nonsense(wanted)
        body = await self._get(wanted, f"blobs/{config}", ("application/json", *_MANIFESTS))
        _same_digest(wanted, body.body, config)
        return Inspected(
            image=wanted.image,
            tag=wanted.tag,
            digest=digest,
            contents=contents_of(_object(wanted, body.body)),
        )

    async def _manifest(self, wanted: Reference, which: str) -> tuple[str, Mapping[str, Any]]:
        answer = await self._get(wanted, f"manifests/{which}", (*_INDEXES, *_MANIFESTS))
        found = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        told = answer.headers.get("Docker-Content-Digest", found)
        for expected in (told, which if which.startswith("sha256:") else told):
            _same_digest(wanted, answer.body, expected)
        return found, _object(wanted, answer.body)

    def _of_platform(self, wanted: Reference, index: Mapping[str, Any]) -> str:
        there: dict[str, str] = {}
        entries = index.get("manifests")
        for entry in entries if isinstance(entries, list) else []:
            platform = entry.get("platform") if isinstance(entry, Mapping) else None
            digest = entry.get("digest") if isinstance(entry, Mapping) else None
            if (
                isinstance(platform, Mapping)
                and isinstance(digest, str)
                and _DIGEST.fullmatch(digest)
            ):
                name = f"{platform.get('os')}/{platform.get('architecture')}"
                there.setdefault("".join(c for c in name[:60] if c.isprintable()), digest)
        if self._platform not in there:
            raise GpuCommonsError(
                _("{image}:{tag} has no image for {platform}; it has {there}").format(
                    image=wanted.image,
                    tag=wanted.tag,
                    platform=self._platform,
                    there=", ".join(sorted(there)) or _("none"),
                )
            )
        return there[self._platform]

    # -- one answer ------------------------------------------------------------------------

    async def _get(self, wanted: Reference, path: str, accept: tuple[str, ...]) -> HTTPResponse:
        """Fetch one thing of a repository, with a token where one is asked for."""
        url = f"{base_url(wanted.registry)}/v2/{wanted.repository}/{path}"
        headers = {"Accept": ", ".join(accept)}
        key = (wanted.registry, wanted.repository)
        answer = await self._fetch(wanted, url, {**headers, **self._authorization(key)})
        if answer.code == HTTPStatus.UNAUTHORIZED and key not in self._tokens:
            await self._sign_in(wanted, answer.headers.get("WWW-Authenticate", ""))
            answer = await self._fetch(wanted, url, {**headers, **self._authorization(key)})
        for _hop in range(_MOST_HOPS):
            if answer.code not in _REDIRECTS:
                break
            url = _onward(wanted, url, answer.headers.get("Location", ""))
            # Blobs lie elsewhere, and what lies there is never shown our token, however it came.
            own = self._authorization(key) if _at(url, wanted.registry) else {}
            answer = await self._fetch(wanted, url, {**headers, **own})
        if answer.code == HTTPStatus.OK:
            return answer
        raise _refused(wanted, answer.code)

    def _authorization(self, key: tuple[str, str]) -> dict[str, str]:
        token = self._tokens.get(key)
        return {} if token is None else {"Authorization": token}

    async def _sign_in(self, wanted: Reference, challenge: str) -> None:
        """Answer a registry's challenge: a name and password, or a token for them."""
        kind, _space, rest = challenge.partition(" ")
        pair = self._credentials.of(wanted.registry)
        basic = None if pair is None else _basic(*pair)
        key = (wanted.registry, wanted.repository)
        if kind.lower() == "basic":
            if basic is None:
                raise _refused(wanted, HTTPStatus.UNAUTHORIZED)
            self._tokens[key] = basic
            return
        told = _challenge(wanted, rest) if kind.lower() == "bearer" else {}
        realm = told.get("realm", "")
        if not _may_be_asked(wanted, realm):
            raise _nonsense(wanted)
        asked = {
            "service": told.get("service", ""),
            "scope": f"repository:{wanted.repository}:pull",
        }
        answer = await self._fetch(
            wanted,
            f"{realm}?{urlencode({name: text for name, text in asked.items() if text})}",
            {} if basic is None else {"Authorization": basic},
        )
        if answer.code != HTTPStatus.OK:
            raise _refused(wanted, answer.code)
        body = _object(wanted, answer.body)
        token = body.get("token") or body.get("access_token")
        if not isinstance(token, str) or not token.isprintable():
            raise _nonsense(wanted)
        self._tokens[key] = f"Bearer {token}"

    async def _fetch(self, wanted: Reference, url: str, headers: Mapping[str, str]) -> HTTPResponse:
        if self._client is None:
            raise RuntimeError("Registries is used as a context manager")
        request = HTTPRequest(
            url,
            headers=dict(headers),
            connect_timeout=TIMEOUT_S / 2,
            request_timeout=TIMEOUT_S,
            follow_redirects=False,
        )
        try:
            return await self._client.fetch(request, raise_error=False)
        except (OSError, HTTPClientError, ValueError) as error:
            raise UnreachableError(
                _("the registry {host} does not answer: {why}; try again, or look at it").format(
                    host=wanted.registry, why=getattr(error, "strerror", None) or error
                )
            ) from error


def base_url(registry: str) -> str:
    """Where a registry answers: over TLS, but for one on this machine."""
    plain = _loopback(f"http://{registry}")
    return f"{'http' if plain else 'https'}://{registry}"


def _loopback(url: str) -> bool:
    """Whether an address is of this machine; ValueError where it is none."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _onward(wanted: Reference, url: str, location: str) -> str:
    """Follow a redirect: over TLS, or on this machine where the registry itself is."""
    try:
        onward = urljoin(url, location)
    except ValueError:
        raise _nonsense(wanted) from None
    if not _at(onward, wanted.registry) and not _may_be_asked(wanted, onward):
        raise _nonsense(wanted)
    return onward


def _at(url: str, registry: str) -> bool:
    """Whether an address is the registry's own."""
    return urlsplit(url)[:2] == urlsplit(base_url(registry))[:2]


def _may_be_asked(wanted: Reference, url: str) -> bool:
    """Whether a registry may send us there; one far away never to services of this machine."""
    try:
        near, scheme = _loopback(url), urlsplit(url).scheme
    except ValueError:
        return False
    if near:
        return _loopback(base_url(wanted.registry)) and scheme in {"http", "https"}
    return scheme == "https"


def _challenge(wanted: Reference, text: str) -> Mapping[str, str]:
    try:
        return parse_keqv_list(parse_http_list(text))
    except (ValueError, IndexError):
        raise _nonsense(wanted) from None


def _basic(name: str, password: str) -> str:
    return "Basic " + b64encode(f"{name}:{password}".encode()).decode()


def _object(wanted: Reference, body: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise _nonsense(wanted) from None
    if not isinstance(found, Mapping):
        raise _nonsense(wanted)
    return found


def _same_digest(wanted: Reference, body: bytes, expected: str) -> None:
    found = f"sha256:{hashlib.sha256(body).hexdigest()}"
    if found != expected:
        raise GpuCommonsError(
            _(
                "what {host} sent is not what its digest says: {expected} was promised, {found} "
                "came. Nothing is pinned; tell whoever keeps that registry."
            ).format(host=wanted.registry, expected=expected[:80], found=found)
        )


def _nonsense(wanted: Reference) -> UnreachableError:
    return UnreachableError(
        _("{host} does not answer as a registry does").format(host=wanted.registry)
    )


def _refused(wanted: Reference, code: int) -> GpuCommonsError:
    name = f"{wanted.image}:{wanted.tag}"
    if code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return GpuCommonsError(
            _(
                "{host} does not let us see {name} (HTTP {code:d}); name a file with a name and "
                "password for it with --credentials"
            ).format(host=wanted.registry, name=name, code=code)
        )
    if code == HTTPStatus.NOT_FOUND:
        return GpuCommonsError(
            _("there is no {name}; look at its spelling and its tag").format(name=name)
        )
    return UnreachableError(
        _("{host} answered HTTP {code:d} for {name}; try again later").format(
            host=wanted.registry, code=code, name=name
        )
    )

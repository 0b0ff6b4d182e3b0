"""Names and passwords for registries, from a file as `docker login` writes it."""

import base64
import binascii
import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Value


class _Entry(BaseModel):
    """One registry, as other programs write it too: what we do not use is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    auth: str | None = None
    username: str | None = None
    password: str | None = None


class _File(Value):
    auths: dict[str, _Entry] = {}


class Credentials:
    """Who to be at which registry. Never shown, never logged."""

    def __init__(self, known: dict[str, tuple[str, str]]) -> None:
        self._known = known

    def __repr__(self) -> str:
        return f"Credentials({', '.join(sorted(self._known))})"

    def of(self, registry: str) -> tuple[str, str] | None:
        """Name and password for a registry, or None."""
        return self._known.get(registry)


def credentials_in(path: Path | None) -> Credentials:
    """Read a credentials file; None means nobody in particular.

    Raises
    ------
    GpuCommonsError
        When it cannot be read. No part of its content is repeated.
    """
    if path is None:
        return Credentials({})
    try:
        text = json.loads(path.read_text("utf-8"))
        auths = text.get("auths", {}) if isinstance(text, dict) else None
        entries = _File.model_validate({"auths": auths}).auths
        known = {_host(name): _pair(entry) for name, entry in entries.items()}
    except OSError as error:
        raise GpuCommonsError(
            _("{path} cannot be read: {why}").format(path=path, why=error.strerror)
        ) from error
    except (ValueError, ValidationError, binascii.Error, RecursionError):
        # From None: the fault's own words hold what stands in the file.
        raise GpuCommonsError(
            _(
                "{path} is no credentials file; it holds "
                '{{"auths": {{"registry.example": {{"auth": "…"}}}}}} as `docker login` writes it'
            ).format(path=path)
        ) from None
    return Credentials({host: pair for host, pair in known.items() if pair is not None})


def _host(name: str) -> str:
    return name.partition("://")[2].partition("/")[0] if "://" in name else name.partition("/")[0]


def _pair(entry: _Entry) -> tuple[str, str] | None:
    if entry.auth:
        name, colon, password = base64.b64decode(entry.auth, validate=True).decode().partition(":")
        if not colon:
            raise ValueError
        return name, password
    if entry.username is not None and entry.password is not None:
        return entry.username, entry.password
    return None

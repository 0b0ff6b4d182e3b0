"""The one connection to the API server of Kubernetes: every call goes through it.

It knows addresses, tokens and time-outs, and no object. Neither token nor header is ever logged.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes_asyncio.client import ApiClient, Configuration
from kubernetes_asyncio.client.exceptions import ApiException
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config

from ..errors import UnreachableError
from ..i18n import _
from . import names
from .answers import failure, silence
from .objects import Body

SHORT_S = 2.0
"""Longest call where a person waits: the spawner's ask has 2 s in all."""

LONG_S = 20.0
"""Longest call where nobody waits: a list of thousands."""

_SILENT_S = 90.0
"""A watch without a word for so long is dead: bookmarks come every minute."""

_UNAUTHORIZED = 401
_MERGE, _APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_Query = Mapping[str, str | int | bool]


class Api:
    """Calls one API server.

    Parameters
    ----------
    kubeconfig
        File with its address and our credentials; None takes those of the pod we run in.
    """

    def __init__(self, kubeconfig: Path | None = None) -> None:
        self._kubeconfig = kubeconfig
        self._client: ApiClient | None = None
        self._opening = asyncio.Lock()

    async def close(self) -> None:
        """Close its connections; the next call opens anew."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def get(
        self, path: str, query: _Query | None = None, *, within_s: float = LONG_S
    ) -> Body:
        """Read an object or a list."""
        return await self._call("GET", path, query=query, within_s=within_s)

    async def create(self, path: str, body: Body, *, within_s: float = LONG_S) -> Body:
        """Create an object."""
        query = {"fieldManager": names.FIELD_MANAGER}
        return await self._call("POST", path, body, query=query, within_s=within_s)

    async def merge(self, path: str, body: Body, *, within_s: float = LONG_S) -> Body:
        """Change the fields that the body has."""
        query = {"fieldManager": names.FIELD_MANAGER}
        return await self._call("PATCH", path, body, query=query, kind=_MERGE, within_s=within_s)

    async def apply(
        self, path: str, body: Body, *, manager: str = names.FIELD_MANAGER, dry_run: bool = False
    ) -> Body:
        """Apply an object on the server; fields that `manager` set before and now omits go."""
        query: dict[str, str | int | bool] = {"fieldManager": manager, "force": "true"}
        if dry_run:
            query["dryRun"] = "All"
        return await self._call("PATCH", path, body, query=query, kind=_APPLY, within_s=LONG_S)

    async def delete(
        self, path: str, body: Body | None = None, *, within_s: float = LONG_S
    ) -> Body:
        """Delete an object; the body may hold preconditions."""
        return await self._call("DELETE", path, body, within_s=within_s)

    async def _call(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        *,
        query: _Query | None = None,
        kind: str = "application/json",
        within_s: float,
    ) -> Body:
        client = await self._open()
        try:
            answer = await client.call_api(
                path,
                method,
                query_params=list((query or {}).items()),
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=body,
                auth_settings=["BearerToken"],
                response_types_map={200: "object", 201: "object", 202: "object"},
                _return_http_data_only=True,
                _request_timeout=within_s,
            )
        except ApiException as error:
            raise await self._failed(error.status, error.body or "") from None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise silence(error) from None
        if not isinstance(answer, dict):
            raise UnreachableError(_("the API server of Kubernetes answered nonsense"))
        return answer

    async def stream(self, path: str, query: _Query) -> AsyncGenerator[Body]:
        """Follow a watch until the server ends it; gives its events as they come.

        Raises
        ------
        UnreachableError
            When the connection breaks, or has been silent for longer than bookmarks take.
        ExpiredError
            When the events from that version on are no longer kept.
        """
        client = await self._open()
        silent = aiohttp.ClientTimeout(sock_connect=LONG_S, sock_read=_SILENT_S)
        try:
            answer: aiohttp.ClientResponse = await client.call_api(
                path,
                "GET",
                query_params=list({**query, "watch": "true"}.items()),
                header_params={"Accept": "application/json"},
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=silent,
            )
            async with answer:
                if answer.status != 200:  # noqa: PLR2004 - everything else is no watch
                    raise await self._failed(answer.status, await answer.text())
                async for line in answer.content:
                    event = _event(line)
                    if event.get("type") == "ERROR":
                        told = event.get("object") or {}
                        raise await self._failed(int(told.get("code", 500)), json.dumps(told))
                    yield event
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise silence(error) from None

    async def _failed(self, status: int, body: str | bytes) -> Exception:
        if status == _UNAUTHORIZED and self._client is not None:
            # A token may have been replaced in its file since it was read; others may be calling,
            # so that the client itself stays.
            with suppress(UnreachableError):
                self._client.configuration.api_key = (await self._settings()).api_key
        return failure(status, body)

    async def _open(self) -> ApiClient:
        async with self._opening:
            if self._client is None:
                self._client = ApiClient(await self._settings())
                self._client.user_agent = names.FIELD_MANAGER
            return self._client

    async def _settings(self) -> Configuration:
        settings = Configuration()
        try:
            if self._kubeconfig is None:
                load_incluster_config(client_configuration=settings)  # type: ignore[no-untyped-call]
            else:
                place = str(self._kubeconfig)
                await load_kube_config(config_file=place, client_configuration=settings)
        except (ConfigException, OSError) as error:
            raise _no_way(str(error)) from None
        except Exception as error:  # noqa: BLE001 - a broken file breaks its parser in any way
            # Only the kind: the parser's own words may quote the file, and so a token.
            raise _no_way(type(error).__name__) from None
        return settings


def _no_way(words: str) -> UnreachableError:
    return UnreachableError(
        _("no way to Kubernetes: {words}; look at the setting kubeconfig").format(words=words)
    )


def _event(line: bytes) -> dict[str, Any]:
    try:
        event = json.loads(line)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise UnreachableError(_("the API server of Kubernetes answered nonsense"))
    return event

"""The kubelet's client: patient where the API server is away, as a node has to be."""

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp

JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
AGAIN_S = 0.2
TOO_MANY, BROKEN = 429, 500
LINE = 2**22
"""Longest event of a watch."""

Manifest = dict[str, Any]


class RefusedError(Exception):
    """The API server refused what no second try would change."""


class Client:
    """One API server, as the owner of a kubeconfig file that the tests wrote."""

    def __init__(self, kubeconfig: Path) -> None:
        read = json.loads(kubeconfig.read_text())
        cluster = read["clusters"][0]["cluster"]
        self._server: str = cluster["server"]
        self._tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._token: str = read["users"][0]["user"]["token"]
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = aiohttp.ClientSession(
            self._server,
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=aiohttp.ClientTimeout(total=None),
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls),
        )
        return self

    async def __aexit__(self, *failure: object) -> None:
        assert self._http
        await self._http.close()

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: str = JSON,
        fine: Iterable[int] = (),
    ) -> Manifest:
        """Ask until there is an answer.

        Parameters
        ----------
        fine
            Refusals (HTTP codes) that are an answer here.

        Raises
        ------
        RefusedError
            For any other refusal.
        """
        while True:
            try:
                code, answer = await self._once(method, path, body, content)
            except aiohttp.ClientError:
                await asyncio.sleep(AGAIN_S)
                continue
            if code < 400 or code in fine:
                return answer
            if code != TOO_MANY and code < BROKEN:
                raise RefusedError(f"{method} {path}: {code} {answer.get('message')}")
            await asyncio.sleep(AGAIN_S)

    async def _once(
        self, method: str, path: str, body: object, content: str
    ) -> tuple[int, Manifest]:
        assert self._http
        text = None if body is None else json.dumps(body)
        headers: Mapping[str, str] = {"Content-Type": content}
        async with self._http.request(method, path, data=text, headers=headers) as answer:
            said = await answer.text()
            return answer.status, json.loads(said) if said[:1] == "{" else {"message": said}

    async def watch(self, path: str, field: str) -> AsyncIterator[tuple[str, list[Manifest]]]:
        """Give ("LIST", all objects) whenever it begins anew, then (event, [object]) each."""
        assert self._http
        while True:
            try:
                listed = await self.call("GET", f"{path}?fieldSelector={field}")
                yield "LIST", listed["items"]
                since = listed["metadata"]["resourceVersion"]
                query = f"fieldSelector={field}&watch=1&resourceVersion={since}"
                async with self._http.get(f"{path}?{query}", read_bufsize=LINE) as answer:
                    async for line in answer.content:
                        event = json.loads(line)
                        if event["type"] == "ERROR":
                            break
                        yield event["type"], [event["object"]]
            except (aiohttp.ClientError, RefusedError) as error:
                sys.stderr.write(f"{path}: {error!r}\n")
            await asyncio.sleep(AGAIN_S)

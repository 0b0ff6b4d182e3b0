"""A real registry for the tests (Debian's docker-registry), on loopback, with one image to look at.

With a password it asks for one, by HTTP's basic scheme.
"""

import ctypes
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from tests.support.ports import free_port

NAME, PASSWORD = "puller", "open-sesame"
_HASH = "$2b$04$RYKHThjqBhKySy3gP6dibOVNDCMfsOHr2rMTUF2xPtgUj6RSy6Z6W"
_START_S = 30.0
_PR_SET_PDEATHSIG = 1
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"


def required() -> str:
    """Return the program, or skip the test; where CI=true, fail it instead."""
    found = shutil.which("docker-registry")
    if found is not None:
        return found
    words = "a registry is missing (Debian: apt install docker-registry)"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


@dataclass(frozen=True)
class RealRegistry:
    """One running registry; `host` is how images name it."""

    host: str
    secret: bool

    @classmethod
    @contextmanager
    def running(cls, *, secret: bool = False) -> Iterator["RealRegistry"]:
        """Start a registry with its files in a directory of its own, and end it."""
        program, folder = required(), Path(tempfile.mkdtemp(prefix="gpu-commons-registry-"))
        made = cls(f"127.0.0.1:{free_port()}", secret)
        process = None
        try:
            (folder / "config.yml").write_text(json.dumps(made._config(folder)))
            with (folder / "out").open("wb") as out:
                process = subprocess.Popen(
                    [program, "serve", str(folder / "config.yml")],
                    stdout=out,
                    stderr=out,
                    preexec_fn=_end_with_parent,  # noqa: PLW1509 - one call that takes no lock
                )
            made._await(process, folder / "out")
            yield made
        finally:
            if process is not None:
                process.kill()
                process.wait()
            shutil.rmtree(folder, ignore_errors=True)

    def push(
        self, repository: str, tag: str, env: list[str], labels: Mapping[str, str] | None = None
    ) -> str:
        """Push an image without layers and return its digest."""
        return self._tag(repository, tag, MANIFEST, self._manifest(repository, env, labels or {}))

    def push_index(self, repository: str, tag: str, images: Mapping[str, list[str]]) -> str:
        """Push an image for each platform under one tag and return the digest of their index."""
        entries = []
        for platform, env in images.items():
            body = self._manifest(repository, env, {})
            digest = self._tag(repository, _sum(body), MANIFEST, body)
            system, _slash, architecture = platform.partition("/")
            where = {"os": system, "architecture": architecture}
            size = len(json.dumps(body))
            entries.append(
                {"mediaType": MANIFEST, "size": size, "digest": digest, "platform": where}
            )
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
        return self._tag(repository, tag, INDEX, index)

    def _config(self, folder: Path) -> dict[str, Any]:
        config: dict[str, Any] = {
            "version": 0.1,
            "log": {"level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
            "http": {"addr": self.host},
        }
        if self.secret:
            (folder / "htpasswd").write_text(f"{NAME}:{_HASH}\n")
            config["auth"] = {"htpasswd": {"realm": "images", "path": str(folder / "htpasswd")}}
        return config

    def _await(self, process: "subprocess.Popen[bytes]", out: Path) -> None:
        until = time.monotonic() + _START_S
        while True:
            try:
                self._call("GET", "/v2/").close()
            except (URLError, OSError) as error:
                if process.poll() is not None or time.monotonic() > until:
                    words = out.read_text(errors="replace")
                    raise RuntimeError(f"the registry did not start: {error}\n{words}") from error
                time.sleep(0.05)
            else:
                return

    def _manifest(self, repository: str, env: list[str], labels: Mapping[str, str]) -> Any:
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": env, "Labels": dict(labels)},
            "rootfs": {"type": "layers", "diff_ids": []},
        }
        body = json.dumps(config).encode()
        return {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {
                "mediaType": "application/vnd.docker.container.image.v1+json",
                "size": len(body),
                "digest": self._blob(repository, body),
            },
            "layers": [],
        }

    def _blob(self, repository: str, body: bytes) -> str:
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        with self._call("POST", f"/v2/{repository}/blobs/uploads/", b"") as answer:
            place = answer.headers["Location"]
        mark = "&" if "?" in place else "?"
        self._call("PUT", f"{place}{mark}digest={digest}", body, "application/octet-stream").close()
        return digest

    def _tag(self, repository: str, tag: str, kind: str, body: Any) -> str:
        path = f"/v2/{repository}/manifests/{tag}"
        with self._call("PUT", path, json.dumps(body).encode(), kind) as answer:
            return str(answer.headers["Docker-Content-Digest"])

    def _call(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> Any:
        url = path if path.startswith("http") else f"http://{self.host}{path}"
        request = Request(url, data=body, method=method)
        if kind:
            request.add_header("Content-Type", kind)
        if self.secret:
            pair = b64encode(f"{NAME}:{PASSWORD}".encode()).decode()
            request.add_header("Authorization", f"Basic {pair}")
        return urlopen(request, timeout=10)


def _sum(body: Any) -> str:
    return f"sha256:{hashlib.sha256(json.dumps(body).encode()).hexdigest()}"


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

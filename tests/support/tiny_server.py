"""Stands in for JupyterLab where a test needs dozens of servers: answers the hub, no more.

Standard library alone, so that fifty start in seconds. `GET …/environ` shows what it was given.
Where TINY_CLOCK names a directory, it writes there when it started, lived and ended by its clock.
"""

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

SHOWN = ("GPU_COMMONS_", "CUDA_VISIBLE", "NVIDIA_VISIBLE", "JUPYTERHUB_", "VIRTUAL_ENV", "PATH")


class Handler(BaseHTTPRequestHandler):
    """Says hello to everything under the server's address."""

    def do_GET(self) -> None:
        """Answer as a single-user server answers `/api`."""
        body: dict[str, object] = {"version": "tiny"}
        if self.path.endswith("/environ"):
            body = {key: value for key, value in os.environ.items() if key.startswith(SHOWN)}
            body["pid"] = os.getpid()
        payload = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("X-JupyterHub-Version", os.environ.get("TINY_HUB_VERSION", "6.1.1"))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *_words: object) -> None:
        """Keep the test's output readable."""


BEAT_S = 0.5
"""Seconds between two lines that say that it lives."""


def keep_time(folder: str) -> None:
    """Write lines of JSON for as long as this process runs: start, beat, beat, …"""
    lease = os.environ.get("GPU_COMMONS_LEASE_ID", "")
    attempt = os.environ.get("GPU_COMMONS_ATTEMPT_ID", "")
    device = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    told = {"lease": lease, "attempt": attempt, "pid": os.getpid(), "device": device}
    with (Path(folder) / f"{os.getpid()}-{time.time_ns()}.jsonl").open("a", buffering=1) as file:
        what = "start"
        while True:
            file.write(json.dumps({"what": what, "at": time.time(), **told}) + "\n")
            what = "beat"
            time.sleep(BEAT_S)


def main() -> None:
    """Serve where the hub says until the hub ends it."""
    if folder := os.environ.get("TINY_CLOCK"):
        threading.Thread(target=keep_time, args=(folder,), daemon=True).start()
    signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    address = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"])
    assert address.hostname
    assert address.port
    ThreadingHTTPServer((address.hostname, address.port), Handler).serve_forever()


if __name__ == "__main__":
    main()

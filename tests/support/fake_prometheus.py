"""A Prometheus over real HTTP that knows a few series, and can be away or confused."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

from hub_ext.telemetry.dcgm import AGE, CPU, ENGINE, FREE, POWER, QUESTIONS, USED, UTIL

NAMES = {query: name for name, query in QUESTIONS.items()}
Labels = dict[str, str]


def gpu(uuid: str, node: str, pod: str = "", part: str = "", **more: str) -> Labels:
    """Make the labels that the exporter gives a device, as a Prometheus with its own names them."""
    labels = {"UUID": uuid, "node": node, "Hostname": "exporter-x", "pod": "dcgm-exporter-abc"}
    if part:
        labels |= {"GPU_I_ID": part, "GPU_I_PROFILE": "1g.18gb"}
    if pod:
        labels |= {"exported_namespace": "gpu-maps", "exported_pod": pod}
    else:
        labels.pop("pod")
    return labels | more


@dataclass
class FakePrometheus:
    """What it would answer."""

    now: datetime
    series: dict[str, list[tuple[Labels, float]]] = field(default_factory=dict)
    token: str = ""
    broken: bytes | None = None
    """Answered to everything, with 200."""
    status: int = 200
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def tell(
        self,
        labels: Labels,
        *,
        at: datetime | None = None,
        engine: float | None = None,
        util: float | None = None,
        used: float | None = 1000,
        free: float | None = 140_000,
        power: float | None = None,
    ) -> None:
        """Let an exporter have been read, in place of what it had told before."""
        figures = {ENGINE: engine, UTIL: util, USED: used, FREE: free, POWER: power}
        figures[AGE] = (at or self.now).timestamp()
        for name, value in figures.items():
            rest = [one for one in self.series.get(name, []) if one[0] != labels]
            self.series[name] = rest if value is None else [*rest, (labels, value)]

    def cpu(self, pod: str, cores: float | None) -> None:
        """Let cAdvisor tell of a pod, or of it no more."""
        labels = {"namespace": "gpu-maps", "pod": pod}
        rest = [one for one in self.series.get(CPU, []) if one[0] != labels]
        self.series[CPU] = rest if cores is None else [*rest, (labels, cores)]

    def answer(self, query: str) -> bytes:
        """Answer an instant query in the API's words."""
        if self.broken is not None:
            return self.broken
        at = self.now.timestamp()
        result: list[dict[str, Any]] = [
            {"metric": labels, "value": [at, repr(value)]}
            for labels, value in self.series.get(NAMES[query], [])
        ]
        data = {"resultType": "vector", "result": result}
        return json.dumps({"status": "success", "data": data}).encode()


@contextmanager
def prometheus(now: datetime) -> Iterator[FakePrometheus]:
    """Run one on 127.0.0.1."""
    state = FakePrometheus(now)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            query = parse_qs(body)["query"][0]
            state.asked.append(query)
            status, answer = state.status, b""
            if state.token and self.headers.get("Authorization") != f"Bearer {state.token}":
                status, answer = 401, b'{"status": "error", "error": "who are you"}'
            elif status == 200:
                answer = state.answer(query)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()

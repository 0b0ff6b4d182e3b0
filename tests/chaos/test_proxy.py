"""The proxy on the way passes on, slows down, cuts, and comes back."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.tcp_proxy import TcpProxy
from tests.support.web import call


class Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_what_is_cut_gets_no_answer_until_it_is_mended(port: int) -> None:
    with TcpProxy.running(lambda: port) as proxy:
        url = f"http://127.0.0.1:{proxy.port}/"
        assert call("GET", url).text == "hello"
        proxy.cut()
        assert call("GET", url).status == 0
        proxy.mend()
        assert call("GET", url).status == 200
        proxy.delay(0.2)
        began = time.monotonic()
        assert call("GET", url).status == 200
        assert time.monotonic() - began > 0.2

"""A kernel of a real Jupyter Server, driven over its websocket as a page would."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from tests.support.lab_identity import OWNER_TOKEN
from tests.support.lab_server import LabServer
from tests.support.web import call


@contextmanager
def kernel(server: LabServer) -> Iterator[str]:
    """Start a kernel, and end it with the block."""
    answer = call("POST", f"{server.url}/api/kernels", token=OWNER_TOKEN, body={"name": "python3"})
    assert answer.status == 201, answer
    kernel_id = str(answer.json["id"])
    try:
        yield kernel_id
    finally:
        call("DELETE", f"{server.url}/api/kernels/{kernel_id}", token=OWNER_TOKEN)


def execute(server: LabServer, kernel_id: str, code: str) -> None:
    """Let a kernel execute code, and leave as soon as it has begun."""
    asyncio.run(_execute(server, kernel_id, code))


async def _execute(server: LabServer, kernel_id: str, code: str) -> None:
    address = f"{server.url.replace('http', 'ws', 1)}/api/kernels/{kernel_id}/channels"
    headers = {"Authorization": f"token {OWNER_TOKEN}"}
    socket = await websocket_connect(HTTPRequest(address, headers=headers))
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "session": uuid.uuid4().hex,
        "username": "alice",
        "version": "5.3",
    }
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
    message = {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
        "channel": "shell",
        "buffers": [],
    }
    await socket.write_message(json.dumps(message))
    while True:
        heard = await asyncio.wait_for(socket.read_message(), 20)
        if heard is None:
            raise AssertionError("the kernel's socket was closed")
        if isinstance(heard, str) and json.loads(heard).get("msg_type") == "execute_input":
            socket.close()
            return

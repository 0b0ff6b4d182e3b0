"""A small mail server that keeps what it is handed: RFC 5321 as far as `smtplib` speaks it."""

import asyncio
import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage


class SmtpSink:
    """Mails as they came, each with its receivers; `refuse` is answered to every receiver."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[tuple[tuple[str, ...], EmailMessage]] = []
        self.logins: list[tuple[str, str]] = []
        self.refuse = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hold one conversation."""
        receivers: list[str] = []

        def say(line: str) -> None:
            writer.write(f"{line}\r\n".encode())

        say("220 sink")
        while line := await reader.readline():
            words = line.decode().strip()
            verb = words.split(" ")[0].upper()
            if verb == "EHLO":
                say("250-sink")
                say("250 AUTH PLAIN")
            elif verb == "AUTH":
                _none, user, password = base64.b64decode(words.split(" ")[2]).split(b"\0")
                self.logins.append((user.decode(), password.decode()))
                say("235 welcome")
            elif verb == "RCPT" and self.refuse:
                say(self.refuse)
            elif verb == "RCPT":
                receivers.append(words.partition("<")[2].partition(">")[0])
                say("250 ok")
            elif verb == "DATA":
                say("354 go on")
                await writer.drain()
                body = (await reader.readuntil(b"\r\n.\r\n"))[:-3]
                mail = message_from_bytes(body.replace(b"\r\n..", b"\r\n."), policy=policy.default)
                assert isinstance(mail, EmailMessage)
                self.mails.append((tuple(receivers), mail))
                receivers = []
                say("250 kept")
            elif verb == "QUIT":
                say("221 bye")
                break
            else:
                say("250 ok")
            await writer.drain()
        writer.close()


@contextmanager
def smtp_sink() -> Iterator[SmtpSink]:
    """Serve on a port of 127.0.0.1, in a thread of its own."""
    sink, ready, done = SmtpSink(), threading.Event(), threading.Event()

    async def serve() -> None:
        server = await asyncio.start_server(sink.talk, "127.0.0.1", 0)
        sink.port = server.sockets[0].getsockname()[1]
        ready.set()
        await asyncio.to_thread(done.wait)
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield sink
    finally:
        done.set()
        thread.join(10)

"""Lets something asynchronous stand beside a test that blocks, as one with a browser does."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TypeVar

T = TypeVar("T")
START_S, END_S = 60, 30


@contextmanager
def aside(make: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """Enter it in a loop and thread of its own; leave it, and end both, with the block.

    Raises
    ------
    Exception
        Whatever its beginning raised.
    """
    made: Future[T] = Future()
    end = threading.Event()

    async def stand() -> None:
        async with make() as thing:
            made.set_result(thing)
            await asyncio.to_thread(end.wait)

    def run() -> None:
        try:
            asyncio.run(stand())
        except BaseException as error:
            if made.done():
                raise
            made.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield made.result(START_S)
    finally:
        end.set()
        thread.join(END_S)

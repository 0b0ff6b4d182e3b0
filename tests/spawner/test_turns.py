"""Whose answers come at once go on one by one, a turn of the hub's loop each."""

import asyncio

from spawner.turns import Turns


async def turns_of(count: int, turns: Turns) -> list[int]:
    """Let so many wait in line at once; give the loop's turn in which each went on."""
    went_on: list[int] = []
    turn = 0

    async def one() -> None:
        await turns.mine()
        went_on.append(turn)

    everybody = asyncio.gather(*(one() for _one in range(count)))
    while not everybody.done():
        await asyncio.sleep(0)
        turn += 1
    return went_on


def test_fifty_at_once_take_fifty_turns() -> None:
    went_on = asyncio.run(turns_of(50, Turns()))
    assert len(went_on) == len(set(went_on)) == 50


def test_who_left_the_line_holds_up_nobody() -> None:
    async def story() -> list[str]:
        turns, went_on = Turns(), list[str]()

        async def one(name: str) -> None:
            await turns.mine()
            went_on.append(name)

        tasks = [asyncio.create_task(one(name)) for name in ("ada", "bob", "cai")]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks, timeout=10)
        return went_on

    assert asyncio.run(story()) == ["ada", "cai"]


def test_a_loop_that_ended_leaves_nobody_in_the_line_of_the_next() -> None:
    turns = Turns()

    async def abandoned() -> None:
        tasks = [asyncio.ensure_future(turns.mine()) for _one in range(3)]
        await asyncio.sleep(0)
        for one in tasks:
            one.cancel()

    asyncio.run(abandoned())
    assert len(asyncio.run(turns_of(2, turns))) == 2

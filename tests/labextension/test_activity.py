"""What a server tells of itself: kernels, terminals, input, a full memory; and nothing else."""

import asyncio
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from jupyter_client.session import Session

from hub_ext.lease import Activity
from labextension.activity import ServerActivity, is_out_of_memory
from tests.support.lab_governor import LabGovernor
from tests.support.lab_identity import GUEST_TOKEN, OWNER_TOKEN
from tests.support.lab_kernel import execute, kernel
from tests.support.lab_server import LabServer, hub_environment, lab_server
from tests.support.web import call

QUICK = """
c.ServerActivity.look_s = 0.1
c.ServerActivity.every_s = 1.0
c.ServerActivity.gap_s = 0.1
"""


@pytest.fixture(scope="module")
def server(governor: LabGovernor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder: Path = tmp_path_factory.mktemp("server")
    with lab_server(folder, hub_environment(governor.url), config=QUICK) as running:
        yield running


def until(governor: LabGovernor, true: Callable[[Activity], bool], seconds: float = 20) -> Activity:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for told in governor.told[-3:]:
            if true(told):
                return told
        time.sleep(0.05)
    pytest.fail(f"never told; last: {governor.told[-1:]}")


def heard_since(governor: LabGovernor, instant: datetime) -> bool:
    heard = [told.out_of_memory_at for told in governor.told[-3:]]
    return any(at is not None and at > instant for at in heard)


def kernel_state(server: LabServer, kernel_id: str) -> dict[str, str]:
    address = f"{server.url}/api/kernels/{kernel_id}?no_track_activity=1"
    found: dict[str, str] = call("GET", address, token=OWNER_TOKEN).json
    return found


def test_a_silent_cell_is_told_as_busy_with_its_begin_and_then_with_how_long_it_took(
    server: LabServer, governor: LabGovernor
) -> None:
    with kernel(server) as kernel_id:
        until(governor, lambda told: told.kernels == 1)
        execute(server, kernel_id, "import time; time.sleep(4)")
        told = until(governor, lambda told: told.kernels_busy == 1)
        assert told.busy_since is not None
        assert timedelta(0) <= told.at - told.busy_since < timedelta(seconds=4)
        told = until(governor, lambda told: told.kernels_busy == 0 and bool(told.cell_s))
        assert told.cell_s in {3, 4, 5}
        assert told.cell_ended_at is not None
    until(governor, lambda told: told.kernels == 0)


@pytest.mark.parametrize(
    "code",
    [
        "raise RuntimeError('CUDA out of memory. Tried to allocate 20.00 GiB')",
        "print('torch.OutOfMemoryError: caught and printed')",
    ],
)
def test_a_full_memory_is_told_and_no_word_of_it(
    server: LabServer, governor: LabGovernor, code: str
) -> None:
    before = datetime.now(UTC)
    with kernel(server) as kernel_id:
        until(governor, lambda told: told.kernels == 1)
        execute(server, kernel_id, code)
        told = until(
            governor,
            lambda told: told.out_of_memory_at is not None and told.out_of_memory_at > before,
        )
        assert "memory" not in told.model_dump_json().replace("out_of_memory_at", "")
        # A kernel that is started again goes on being heard. What it says before its ears are on
        # again reaches nobody, as in a page; so it says it until somebody has heard.
        call("POST", f"{server.url}/api/kernels/{kernel_id}/restart", token=OWNER_TOKEN)
        again, end = datetime.now(UTC), time.monotonic() + 30
        while time.monotonic() < end and not heard_since(governor, again):
            execute(server, kernel_id, code)
            time.sleep(1)
        assert heard_since(governor, again)


class Stream:
    """Where a kernel is heard."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.stuck, self.shut = stuck, False

    def on_recv(self, heard: object) -> None:
        self.heard = heard

    def closed(self) -> bool:
        return self.shut

    def close(self) -> None:
        if self.stuck:
            raise OSError("not a socket")
        self.shut = True


class Kernel:
    """A kernel that cannot be heard at first, as one that starts anew."""

    session = Session()
    execution_state = "idle"
    last_activity = datetime(2026, 12, 1, tzinfo=UTC)

    def __init__(self, fails: int, *, stuck: bool = False) -> None:
        self.fails, self.stuck = fails, stuck

    def connect_iopub(self) -> Stream:
        self.fails -= 1
        if self.fails >= 0:
            raise RuntimeError("no ports yet")
        return Stream(stuck=self.stuck)


class Kernels:
    """What a Jupyter Server knows of its kernels; it may be at a loss once."""

    def __init__(self, **kernels: Kernel) -> None:
        self.kernels, self.lost = kernels, 0

    def list_kernel_ids(self) -> list[str]:
        self.lost -= 1
        if self.lost >= 0:
            raise RuntimeError("changed while it was counted")
        return list(self.kernels)

    def get_kernel(self, name: str) -> Kernel:
        return self.kernels[name]


def told_by(kernels: Kernels, until_n: int) -> list[Activity]:
    """Let an activity tell so often."""
    told: list[Activity] = []

    async def story() -> None:
        enough = asyncio.Event()

        async def tell(activity: Activity) -> None:
            told.append(activity)
            if len(told) == until_n:
                enough.set()

        activity = ServerActivity(kernels, None, tell, look_s=0.1, every_s=1.0, gap_s=0.0)
        running = asyncio.create_task(activity.run())
        await asyncio.wait_for(enough.wait(), 20)
        kernels.kernels.pop("stuck", None)
        await asyncio.sleep(0.3)
        assert not running.done()
        running.cancel()
        activity.close()

    asyncio.run(story())
    return told


def test_a_kernel_that_cannot_be_heard_hides_no_other_and_is_heard_later() -> None:
    starting, well = Kernel(fails=3), Kernel(fails=0)
    told = told_by(Kernels(starting=starting, well=well), 2)
    assert [one.kernels for one in told] == [2, 2]
    assert starting.fails == -1, "tried until it is heard, and then no more"


def test_a_fault_while_looking_or_letting_go_silences_nobody() -> None:
    kernels = Kernels(stuck=Kernel(fails=0, stuck=True))
    kernels.lost = 2
    assert len(told_by(kernels, 2)) == 2


def test_looking_and_telling_moves_no_activity(server: LabServer, governor: LabGovernor) -> None:
    with kernel(server) as kernel_id:
        until(governor, lambda told: told.kernels == 1)
        time.sleep(1)
        before, told = kernel_state(server, kernel_id), len(governor.told)
        status = call("GET", f"{server.url}/api/status?no_track_activity=1", token=OWNER_TOKEN)
        call("POST", f"{server.url}/gpu-commons/input", token=OWNER_TOKEN, body={})
        time.sleep(3)
        assert len(governor.told) > told
        after = kernel_state(server, kernel_id)
        assert after["last_activity"] == before["last_activity"]
        again = call("GET", f"{server.url}/api/status?no_track_activity=1", token=OWNER_TOKEN)
        assert again.json["last_activity"] == status.json["last_activity"]


def test_input_of_the_owner_counts_and_a_guests_does_not(
    server: LabServer, governor: LabGovernor
) -> None:
    before = datetime.now(UTC)
    assert call("POST", f"{server.url}/gpu-commons/input", token=GUEST_TOKEN, body={}).status == 204
    time.sleep(1.5)
    last = governor.told[-1]
    assert last.input_at is None or last.input_at < before
    assert call("POST", f"{server.url}/gpu-commons/input", token=OWNER_TOKEN, body={}).status == 204
    until(governor, lambda told: told.input_at is not None and told.input_at > before)


def test_terminals_are_counted(server: LabServer, governor: LabGovernor) -> None:
    made = call("POST", f"{server.url}/api/terminals", token=OWNER_TOKEN, body={})
    assert made.status == 200
    until(governor, lambda told: told.terminals == 1)
    call("DELETE", f"{server.url}/api/terminals/{made.json['name']}", token=OWNER_TOKEN)
    until(governor, lambda told: told.terminals == 0)


def test_a_governor_that_is_away_is_told_again_when_it_is_back(
    server: LabServer, governor: LabGovernor
) -> None:
    governor.change(silent=True)
    time.sleep(1)
    governor.change(silent=False)
    told = len(governor.told)
    end = time.monotonic() + 10
    while len(governor.told) == told and time.monotonic() < end:
        time.sleep(0.05)
    assert len(governor.told) > told


@pytest.mark.parametrize(
    ("kind", "content", "full"),
    [
        ("error", {"ename": "OutOfMemoryError", "evalue": "CUDA out of memory"}, True),
        ("stream", {"text": "RESOURCE_EXHAUSTED: Out of memory while trying"}, True),
        ("error", {"ename": "RuntimeError", "evalue": "CUDA error: out of memory"}, True),
        ("error", {"ename": "OutOfMemoryError", "evalue": "Out of memory allocating 8 B"}, True),
        ("error", {"ename": "E", "evalue": "OOM when allocating tensor on /device:GPU:0"}, True),
        ("error", {"ename": "E", "evalue": "OOM when allocating tensor on /device:CPU:0"}, False),
        ("stream", {"text": "out of memory of what I ate"}, False),
        ("execute_input", {"code": "# CUDA out of memory"}, False),
        ("error", {}, False),
        ("stream", {"text": "x" * 90_000 + "\nCUDA out of memory"}, True),
        ("stream", {"text": "CUDA out of memory\n" + "x" * 90_000}, True),
        ("stream", {"text": "x" * 19_990 + "CUDA out of memory" + "x" * 19_990}, True),
        ("stream", {"text": "x" * 90_000}, False),
    ],
)
def test_only_the_words_of_libraries_tell_of_a_full_memory(
    kind: str, content: dict[str, str], full: bool
) -> None:
    assert is_out_of_memory({"msg_type": kind, "content": content}) is full

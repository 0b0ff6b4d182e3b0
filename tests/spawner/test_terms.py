"""From what was granted to what a server sees; without a device it sees none."""

from pathlib import Path

import pytest

from hub_ext.lease import (
    Ask,
    AttemptId,
    Choice,
    Environment,
    Grant,
    ProfileName,
    ServerKey,
    UserName,
)
from spawner.terms import granted, variables, without_governor
from tests.support.governor import FakeGovernor, offer

STATE = Path("/state")


def a_grant(profile: str = "mig-small", **fake: object) -> Grant:
    ask = Ask(
        attempt_id="attempt-1",
        key=ServerKey(user=UserName("ada")),
        choice=Choice(profile=ProfileName(profile)),
    )
    grant = FakeGovernor(**fake).ask(ask)  # type: ignore[arg-type]
    assert isinstance(grant, Grant)
    return grant


def test_devices_are_named_to_cuda_and_to_the_container_runtime() -> None:
    assert variables(granted(a_grant()), STATE) == {
        "CUDA_VISIBLE_DEVICES": "SIM-MIG-0",
        "NVIDIA_VISIBLE_DEVICES": "SIM-MIG-0",
        "GPU_COMMONS_ATTEMPT_ID": "attempt-1",
        "GPU_COMMONS_LEASE_ID": "lease-1",
        "GPU_COMMONS_SIM_FILE": "/state/sim/lease-1.json",
    }


def test_real_devices_have_no_simulation_file() -> None:
    assert "GPU_COMMONS_SIM_FILE" not in variables(granted(a_grant(simulated=False)), STATE)


def test_no_device_is_said_in_both_languages() -> None:
    told = variables(granted(a_grant("cpu")), STATE)
    assert told["CUDA_VISIBLE_DEVICES"] == ""
    assert told["NVIDIA_VISIBLE_DEVICES"] == "void"


@pytest.mark.parametrize(
    ("prefix", "found"),
    [
        ("${GPU_COMMONS_STATE}/env/a", "/state/env/a"),
        ("/opt/env/a", "/opt/env/a"),
        ("env/a", None),
    ],
)
def test_without_the_governor_only_a_prefix_with_a_place_is_used(
    prefix: str, found: str | None
) -> None:
    pinned = offer("cpu", environment=Environment(name="a", prefix=prefix, digest="sha256:0"))
    terms = without_governor(AttemptId("attempt-1"), pinned, STATE)
    if found is None:
        assert terms is None
    else:
        assert terms is not None
        assert terms.environment is not None
        assert terms.environment.prefix == found
        assert "GPU_COMMONS_LEASE_ID" not in variables(terms, STATE)

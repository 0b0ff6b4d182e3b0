"""Of all that is announced, the first that takes a lease's devices bounds it, and no other."""

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.announced import avoiding, bounded
from hub_ext.admission.decide import Admitted
from hub_ext.admission.placing import place
from hub_ext.admission.snapshot import Demand, Scene, Snapshot
from hub_ext.lease import (
    Device,
    Maintenance,
    PoolName,
    Reason,
    ServerKey,
    Standing,
    UserName,
)
from hub_ext.mig.geometry import declared_devices
from hub_ext.units import UNITS_PER_GPU
from tests.support.pools import NOON, make_policy, team

POLICY = make_policy({"red": team({"whole": {"nominal": "4"}}, name="red")})
WHOLE = PoolName("whole")
DEVICES = declared_devices(WHOLE, POLICY.pools["whole"])
WANTED = Demand(
    key=ServerKey(user=UserName("ann")),
    team="red",
    pool=WHOLE,
    flavor="gpu-1",
    units=UNITS_PER_GPU,
    priority=1000,
    requested_at=NOON,
)

places = st.one_of(
    st.tuples(st.just("pool"), st.sampled_from(["whole", "cut"])),
    st.tuples(st.just("node"), st.sampled_from(sorted({one.node for one in DEVICES}))),
    st.tuples(st.just("device"), st.sampled_from([one.id for one in DEVICES])),
)


@st.composite
def announced(draw: st.DrawFn) -> Maintenance:
    place, name = draw(places)
    start = NOON + timedelta(minutes=draw(st.integers(-600, 600)))
    return Maintenance.model_validate(
        {
            "id": f"m-{draw(st.integers(0, 10**6))}",
            "place": place,
            "name": name,
            "start": start,
            "end": start + timedelta(minutes=draw(st.integers(1, 600))),
            "reason": "cables",
            "at": NOON,
            "by": "root",
        }
    )


def scene(windows: list[Maintenance]) -> Scene:
    snapshot = Snapshot(
        policy=POLICY, generation=1, at=NOON, devices=DEVICES, maintenance=tuple(windows)
    )
    return Scene(snapshot, WHOLE, ())


def until(windows: list[Maintenance], device: Device) -> float:
    """Minutes that a lease on a device can live from noon on."""
    starts = [one.start for one in windows if one.covers(device) and one.end > NOON]
    return min(((start - NOON).total_seconds() / 60 for start in starts), default=float("inf"))


@given(st.lists(announced(), max_size=4), st.sets(st.sampled_from(DEVICES), min_size=1))
def test_a_lease_ends_where_the_first_of_its_devices_is_taken(
    windows: list[Maintenance], devices: set[Device]
) -> None:
    admitted = Admitted(
        standing=Standing.guaranteed,
        devices=tuple(devices),
        reason=Reason(code="guaranteed", message="Fine."),
    )
    found = bounded(scene(windows), WANTED, admitted)
    least = min(until(windows, device) for device in devices)
    if found.ends_by is None:
        assert least == float("inf")
        assert found == admitted
    else:
        assert (found.ends_by - NOON).total_seconds() / 60 == least
        assert "cables" in found.ends_why


@given(st.lists(announced(), max_size=4))
def test_no_device_on_which_it_could_live_longer_is_left_free(windows: list[Maintenance]) -> None:
    view = scene(windows)
    aside = list(avoiding(view))
    assert aside[-1] == frozenset()
    assert all(later <= earlier for earlier, later in pairwise(aside))
    found = place(view, WANTED)
    assert found is not None
    assert until(windows, found[0]) == max(until(windows, device) for device in DEVICES)

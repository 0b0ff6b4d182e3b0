"""Which device a request gets, and what is usable of what the policy declares."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Device, DeviceId, Inventory, PoolName
from hub_ext.mig.geometry import declared_devices
from hub_ext.mig.placement import count_free, pick, same_model, usable
from hub_ext.policy.model import Node, Pool

NOW = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)
CUT = Pool(
    model="h200-141gb",
    nodes=(
        Node(name="a", gpus=2, geometry=(("1g.18gb",) * 7, ("3g.71gb", "3g.71gb"))),
        Node(name="b", gpus=1, geometry=(("3g.71gb", "1g.18gb", "1g.18gb"),)),
    ),
)
WHOLE = Pool(model="l40s", nodes=(Node(name="a", gpus=2), Node(name="b", gpus=4)))


def inventory(node: str, *devices: Device, problem: str = "") -> Inventory:
    return Inventory(node=node, source="nvml", at=NOW, devices=devices, problem=problem)


def real(node: str, gpu: int, model: str, profile: str | None = None, tag: str = "") -> Device:
    name = f"{'MIG' if profile else 'GPU'}-{node}-{gpu}{tag}"
    return Device(
        id=DeviceId(name), pool=PoolName(""), node=node, gpu=gpu, model=model, mig_profile=profile
    )


def spots(devices: tuple[Device, ...] | None) -> list[tuple[str, int, int | None]]:
    return [(one.node, one.gpu, one.start) for one in devices or ()]


def test_whole_gpus_come_from_the_node_that_fits_most_tightly() -> None:
    devices = declared_devices("w", WHOLE)
    assert spots(pick(devices, frozenset(), gpus=2, mig_profile=None)) == [
        ("a", 0, None),
        ("a", 1, None),
    ]
    assert spots(pick(devices, frozenset(), gpus=3, mig_profile=None)) == [
        ("b", 0, None),
        ("b", 1, None),
        ("b", 2, None),
    ]
    assert pick(devices, frozenset(), gpus=5, mig_profile=None) is None
    assert pick(devices, frozenset(), gpus=0, mig_profile=None) == ()


def test_six_free_gpus_on_two_nodes_are_no_room_for_five() -> None:
    devices = declared_devices("w", WHOLE)
    assert count_free(devices, frozenset(), gpus=1, mig_profile=None) == 6
    assert count_free(devices, frozenset(), gpus=2, mig_profile=None) == 3
    assert count_free(devices, frozenset(), gpus=4, mig_profile=None) == 1
    assert count_free(devices, frozenset(), gpus=5, mig_profile=None) == 0
    assert count_free(devices, frozenset(), gpus=0, mig_profile=None) == 0


def test_a_mig_device_comes_from_the_start_that_other_profiles_need_least() -> None:
    devices = declared_devices("m", CUT)
    first = pick(devices, frozenset(), gpus=0, mig_profile="1g.18gb")
    assert spots(first) == [("a", 0, 6)]
    assert first is not None
    second = pick(devices, frozenset({first[0].id}), gpus=0, mig_profile="1g.18gb")
    assert spots(second) == [("a", 0, 5)]
    assert spots(pick(devices, frozenset(), gpus=0, mig_profile="3g.71gb")) == [("a", 1, 4)]
    assert pick(devices, frozenset(), gpus=0, mig_profile="7g.141gb") is None
    assert count_free(devices, frozenset({first[0].id}), gpus=0, mig_profile="1g.18gb") == 8


def test_a_cut_gpu_is_never_handed_out_whole() -> None:
    assert pick(declared_devices("m", CUT), frozenset(), gpus=1, mig_profile=None) is None


@given(data=st.data())
def test_counting_agrees_with_picking_until_nothing_is_left(data: st.DataObject) -> None:
    devices = declared_devices("m", CUT) + declared_devices("w", WHOLE)
    held = frozenset(data.draw(st.sets(st.sampled_from([one.id for one in devices]))))
    gpus, profile = data.draw(
        st.sampled_from([(1, None), (2, None), (3, None), (0, "1g.18gb"), (0, "3g.71gb")])
    )
    expected = count_free(devices, held, gpus=gpus, mig_profile=profile)
    served = 0
    while (chosen := pick(devices, held, gpus=gpus, mig_profile=profile)) is not None:
        ids = {one.id for one in chosen}
        assert len(ids) == max(gpus, 1)
        assert ids.isdisjoint(held)
        assert len({one.node for one in chosen}) == 1
        assert {one.mig_profile for one in chosen} == {profile}
        shuffled = data.draw(st.permutations(devices))
        assert pick(shuffled, held, gpus=gpus, mig_profile=profile) == chosen
        held |= ids
        served += 1
    assert served == expected


def test_a_simulated_node_offers_exactly_what_is_declared() -> None:
    declared = declared_devices("m", CUT) + declared_devices("w", WHOLE)
    found = [
        Inventory(
            node=node,
            source="simulated",
            at=NOW,
            devices=tuple(one for one in reversed(declared) if one.node == node),
        )
        for node in ("b", "a")
    ]
    devices, drift = usable(declared, found)
    assert devices == declared
    assert drift == ()


def test_real_devices_take_the_declared_slots_under_their_own_names() -> None:
    pool = Pool(model="l40s", nodes=(Node(name="a", gpus=2),))
    declared = declared_devices("w", pool)
    devices, drift = usable(
        declared, [inventory("a", real("a", 1, "NVIDIA L40S"), real("a", 0, "NVIDIA L40S"))]
    )
    assert [(one.id, one.pool, one.gpu, one.model, one.simulated) for one in devices] == [
        ("GPU-a-0", "w", 0, "l40s", False),
        ("GPU-a-1", "w", 1, "l40s", False),
    ]
    assert drift == ()


def test_a_gpu_that_is_missing_is_not_usable_and_is_named() -> None:
    declared = declared_devices("w", WHOLE)
    devices, drift = usable(
        declared,
        [inventory("b", *(real("b", gpu, "l40s") for gpu in (0, 1, 3)), problem="GPU 2 is lost")],
    )
    assert [one.id for one in devices] == ["GPU-b-0", "GPU-b-1", "GPU-b-3"]
    assert drift == (
        "a GPU 0 (l40s): no agent has reported this machine",
        "a GPU 1 (l40s): no agent has reported this machine",
        "b GPU 2 (l40s) was not found: GPU 2 is lost",
    )


def test_a_gpu_cut_otherwise_serves_what_it_can_and_says_the_difference() -> None:
    pool = Pool(
        model="h200-141gb",
        nodes=(Node(name="a", gpus=1, geometry=(("3g.71gb", "1g.18gb", "1g.18gb"),)),),
    )
    found = inventory(
        "a",
        *(real("a", 0, "NVIDIA H200", "1g.18gb", f"-{n}") for n in range(3)),
        real("a", 0, "NVIDIA H200", "2g.35gb", "-big"),
    )
    devices, drift = usable(declared_devices("m", pool), [found])
    assert [(one.id, one.start) for one in devices] == [("MIG-a-0-0", 4), ("MIG-a-0-1", 5)]
    assert drift == (
        (
            "a GPU 0: the policy declares 2 x 1g.18gb, 1 x 3g.71gb, "
            "found is 3 x 1g.18gb, 1 x 2g.35gb; 2 of 3 declared devices are usable"
        ),
    )


def test_gpus_found_at_other_indexes_are_matched_by_their_cut() -> None:
    pool = Pool(
        model="h200-141gb",
        nodes=(Node(name="a", gpus=2, geometry=("whole", ("3g.71gb", "3g.71gb"))),),
    )
    found = inventory(
        "a",
        real("a", 0, "NVIDIA H200", "3g.71gb", "-x"),
        real("a", 0, "NVIDIA H200", "3g.71gb", "-y"),
        real("a", 7, "NVIDIA H200"),
    )
    devices, drift = usable(declared_devices("m", pool), [found])
    assert [one.id for one in devices] == ["GPU-a-7", "MIG-a-0-x", "MIG-a-0-y"]
    assert drift == ()


def test_a_partial_match_never_steals_another_slots_exact_match() -> None:
    pool = Pool(
        model="h200-141gb",
        nodes=(
            Node(
                name="a",
                gpus=2,
                geometry=(("3g.71gb", "2g.35gb"), ("3g.71gb", "3g.71gb")),
            ),
        ),
    )
    found = inventory(
        "a",
        real("a", 0, "NVIDIA H200", "3g.71gb", "-x"),
        real("a", 0, "NVIDIA H200", "3g.71gb", "-y"),
        real("a", 1, "NVIDIA H200"),
    )
    devices, drift = usable(declared_devices("m", pool), [found])
    assert [one.id for one in devices] == ["MIG-a-0-x", "MIG-a-0-y"]
    assert len(drift) == 1
    assert "0 of 2" in drift[0]


def test_a_foreign_gpu_is_named_and_never_used() -> None:
    pool = Pool(model="l40s", nodes=(Node(name="a", gpus=1),))
    found = inventory("a", real("a", 0, "NVIDIA L40S"), real("a", 1, "NVIDIA T4"))
    devices, drift = usable(declared_devices("w", pool), [found])
    assert [one.id for one in devices] == ["GPU-a-0"]
    assert drift == ("a has a GPU 1 (NVIDIA T4) that the policy does not declare",)


def test_two_pools_of_one_model_on_one_machine_share_no_gpu() -> None:
    pool = Pool(model="l40s", nodes=(Node(name="a", gpus=2),))
    declared = declared_devices("one", pool) + declared_devices("two", pool)
    found = inventory("a", *(real("a", gpu, "NVIDIA L40S") for gpu in range(4)))
    devices, drift = usable(declared, [found])
    assert len({one.id for one in devices}) == 4
    assert [one.pool for one in devices] == ["one", "one", "two", "two"]
    assert drift == ()


def test_a_device_that_is_found_twice_is_handed_out_once() -> None:
    twin = real("a", 0, "NVIDIA L40S")
    found = (
        inventory("a", twin, twin.model_copy(update={"gpu": 1})),
        inventory("b", twin.model_copy(update={"node": "b"})),
    )
    devices, drift = usable(declared_devices("w", WHOLE), found)
    assert [device.id for device in devices] == [twin.id]
    assert pick(devices, frozenset(), gpus=2, mig_profile=None) is None
    assert len(drift) == 5


def test_product_names_are_recognised_by_table_and_by_words() -> None:
    assert same_model("h200-141gb", "NVIDIA H200 NVL")
    assert same_model("a100-80gb", "NVIDIA A100-SXM4-80GB")
    assert same_model("l40s", "NVIDIA L40S")
    assert not same_model("a100-80gb", "NVIDIA A100-SXM4-40GB")
    assert not same_model("l4", "NVIDIA L40S")


def test_a_virtual_gpu_is_nobodys_where_the_policy_promises_real_ones() -> None:
    one = Pool(model="l40s", nodes=(Node(name="a", gpus=2),))
    found = inventory(
        "a",
        real("a", 0, "NVIDIA L40S").model_copy(update={"virtual": True}),
        real("a", 1, "NVIDIA L40S").model_copy(update={"virtual": False}),
    )
    devices, drift = usable(declared_devices("w", one), [found])
    assert spots(devices) == [("a", 1, None)]
    (words,) = drift
    assert "a GPU 0 is a virtual one" in words
    assert "move it to a pool with `vgpu`" in words


def test_a_pool_of_virtual_gpus_takes_them_and_says_where_one_is_real_or_nobody_tells() -> None:
    pool = Pool(model="h100-20c", vgpu="H100-20C", nodes=(Node(name="a", gpus=3),))
    found = inventory(
        "a",
        *(
            real("a", gpu, "NVIDIA H100-20C").model_copy(update={"virtual": told})
            for gpu, told in enumerate((True, False, None))
        ),
    )
    devices, drift = usable(declared_devices("v", pool), [found])
    assert spots(devices) == [("a", 0, None), ("a", 1, None), ("a", 2, None)]
    assert drift == ("a GPU 1 is a real one, and pool v has virtual ones",)

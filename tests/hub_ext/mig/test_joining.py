"""Sets of GPUs: the closest joined one is chosen, and who is admitted never depends on it."""

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.lease import Device, DeviceId, PoolName, Wired
from hub_ext.mig.joining import Join, closest, joined, joined_words
from hub_ext.mig.placement import count_free, pick


def gpu(number: int, wired: Wired | None = None, node: str = "n1") -> Device:
    return Device(
        id=DeviceId(f"{node}-GPU-{number}"),
        pool=PoolName("big"),
        node=node,
        gpu=number,
        model="h200-141gb",
        wired=wired,
    )


def pairs(count: int = 8) -> list[Device]:
    """Pairs on NVLink, two pairs below a bridge, two bridges a socket."""
    return [
        gpu(n, Wired(nvlink=n // 2 * 2, switch=n // 2 * 2, bridge=n // 4 * 4, socket=n // 8 * 8))
        for n in range(count)
    ]


def numbers(devices: tuple[Device, ...] | None) -> list[int]:
    return [one.gpu for one in devices or ()]


def test_two_gpus_come_from_one_pair_though_lower_ones_are_free() -> None:
    free = [one for one in pairs() if one.gpu not in {0, 3}]
    join, chosen = closest(free, 2)
    assert (join, numbers(chosen)) == (Join.nvlink, [4, 5])


def test_four_come_from_below_one_bridge() -> None:
    free = [one for one in pairs() if one.gpu != 0]
    join, chosen = closest(free, 4)
    assert (join, numbers(chosen)) == (Join.bridge, [4, 5, 6, 7])


def test_one_alone_spoils_no_pair_where_it_need_not() -> None:
    free = [one for one in pairs() if one.gpu != 5]
    assert numbers(closest(free, 1)[1]) == [4]


def test_where_nothing_is_known_the_first_ones_are_taken() -> None:
    join, chosen = closest([gpu(n) for n in range(4)], 2)
    assert (join, numbers(chosen)) == (Join.unknown, [0, 1])


def test_a_machine_where_they_are_joined_goes_before_one_that_is_fuller() -> None:
    apart = [gpu(n, node="n0") for n in range(2)]
    chosen = pick([*apart, *pairs()], frozenset(), gpus=2, mig_profile=None)
    assert chosen is not None
    assert {one.node for one in chosen} == {"n1"}


def test_it_is_said_what_was_got() -> None:
    there = pairs()
    assert joined_words(there[:2]) == "2 GPUs, each joined to each by NVLink"
    assert joined_words(there[:4]) == "4 GPUs behind one PCIe host bridge"
    assert joined_words([gpu(0), gpu(1)]) == "2 GPUs; how they are joined is not known"
    assert joined_words([gpu(0), gpu(0, node="n2")]) == "2 GPUs of several machines"
    assert joined_words(there[:1]) == ""
    apart = [gpu(n, Wired(switch=n, bridge=n, socket=n)) for n in range(2)]
    assert joined(apart) is Join.node
    untold = [gpu(n, Wired(switch=n, bridge=n, socket=n, untold=(1 - n,))) for n in range(2)]
    assert joined(untold) is Join.unknown
    assert joined_words(untold) == "2 GPUs; how they are joined is not known"
    assert closest(untold, 2)[0] is Join.unknown


wirings = st.none() | st.builds(
    Wired,
    nvlink=st.none() | st.integers(0, 3),
    switch=st.integers(0, 3),
    bridge=st.integers(0, 2),
    socket=st.integers(0, 1),
)


@given(
    st.lists(st.tuples(wirings, st.sampled_from(["n1", "n2", "n3"])), max_size=16),
    st.integers(1, 5),
    st.sets(st.integers(0, 15)),
)
def test_how_gpus_are_joined_never_changes_whether_a_request_fits(
    there: list[tuple[Wired | None, str]], count: int, taken: set[int]
) -> None:
    devices = [gpu(n, wired, node) for n, (wired, node) in enumerate(there)]
    bare = [one.model_copy(update={"wired": None}) for one in devices]
    held = frozenset(devices[n].id for n in taken if n < len(devices))
    chosen = pick(devices, held, gpus=count, mig_profile=None)
    plain = pick(bare, held, gpus=count, mig_profile=None)
    assert (chosen is None) == (plain is None)
    assert chosen == pick(devices[::-1], held, gpus=count, mig_profile=None)
    assert count_free(devices, held, gpus=count, mig_profile=None) == count_free(
        bare, held, gpus=count, mig_profile=None
    )
    if chosen is not None:
        assert len({one.id for one in chosen}) == count
        assert len({one.node for one in chosen}) == 1
        assert not {one.id for one in chosen} & held

"""What processes spent between two reads: nothing twice, nothing hidden, never below zero."""

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.telemetry.accounting import Key, Read, Seen, cpu_millis, disk_bytes_s, flow_bytes_s

KEYS = st.sampled_from([Key(pid, 100.0) for pid in range(2, 8)])
SEEN = st.builds(
    Seen,
    parent=st.integers(1, 8),
    own=st.floats(0, 1000),
    reaped=st.floats(0, 1000),
    disk=st.none() | st.integers(0, 1 << 50),
)


@given(
    former=st.dictionaries(KEYS, SEEN), now=st.dictionaries(KEYS, SEEN), span=st.floats(0.01, 100)
)
def test_cpu_is_never_negative(former: dict[Key, Seen], now: dict[Key, Seen], span: float) -> None:
    millis = cpu_millis(Read(0.0, 1000.0, former), Read(span, 1000.0 + span, now))
    assert millis is not None
    assert millis >= 0


@given(own=st.integers(0, 500), child=st.integers(0, 500), later=st.integers(0, 500))
def test_a_child_that_ends_adds_only_what_it_spent_since(own: int, child: int, later: int) -> None:
    parent, gone = Key(2, 100.0), Key(3, 100.0)
    former = {parent: Seen(1, own, 0), gone: Seen(2, child, 0)}
    now = {parent: Seen(1, own, child + later)}
    assert cpu_millis(Read(0, 1000.0, former), Read(1, 1001.0, now)) == later * 1000


@given(busy=st.integers(0, 500), gone=st.integers(0, 500))
def test_an_orphan_that_nobody_waited_for_hides_no_other_work(busy: int, gone: int) -> None:
    parent, orphan = Key(2, 100.0), Key(3, 100.0)
    former = {parent: Seen(1, 0, 0), orphan: Seen(2, gone, 0)}
    now = {parent: Seen(1, busy, 0)}
    assert cpu_millis(Read(0, 1000.0, former), Read(1, 1001.0, now)) == busy * 1000


@given(
    former=st.dictionaries(KEYS, SEEN), now=st.dictionaries(KEYS, SEEN), span=st.floats(0.01, 100)
)
def test_bytes_are_never_negative_and_unknown_where_a_process_hides_them(
    former: dict[Key, Seen], now: dict[Key, Seen], span: float
) -> None:
    moved = disk_bytes_s(Read(0.0, 1000.0, former), Read(span, 1000.0 + span, now))
    if any(one.disk is None for one in now.values()):
        assert moved is None
    assert moved is None or moved >= 0


MIB = 1 << 20


def test_a_download_that_ended_counts_once() -> None:
    shell, fetcher = Key(2, 100.0), Key(3, 100.0)
    former = {shell: Seen(1, 1.0, 0.0, MIB), fetcher: Seen(2, 4.0, 0.0, 900 * MIB)}
    now = {shell: Seen(1, 1.0, 4.5, (1 + 910) * MIB)}
    assert disk_bytes_s(Read(0, 1000.0, former), Read(10, 1010.0, now)) == MIB


def test_an_orphan_hides_no_bytes_of_the_others() -> None:
    parent, orphan = Key(2, 100.0), Key(3, 100.0)
    former = {parent: Seen(1, 1.0, 0.0, 0), orphan: Seen(2, 4.0, 0.0, 900 * MIB)}
    now = {parent: Seen(1, 1.0, 0.0, 20 * MIB)}
    assert disk_bytes_s(Read(0, 1000.0, former), Read(10, 1010.0, now)) == 2 * MIB


def test_the_past_of_a_process_found_late_is_no_part_of_the_period() -> None:
    old, young = Key(2, 100.0), Key(3, 1005.0)
    now = {old: Seen(1, 1.0, 0.0, 900 * MIB), young: Seen(1, 1.0, 0.0, 10 * MIB)}
    assert disk_bytes_s(Read(0, 1000.0, {}), Read(10, 1010.0, now)) == MIB


def test_a_flow_is_known_of_networks_seen_twice() -> None:
    assert flow_bytes_s({7: 100}, {7: 1100}, 10.0) == 100
    assert flow_bytes_s({7: 100}, {8: 1100}, 10.0) is None
    assert flow_bytes_s({}, {}, 10.0) is None
    # An interface that was made anew counts from zero again.
    assert flow_bytes_s({7: 9000, 8: 0}, {7: 50, 8: 100}, 10.0) == 10

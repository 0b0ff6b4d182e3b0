"""Laws that hold for any policy, any load and any order of things."""

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from hub_ext.admission.decide import Admitted, decide, standing_of
from hub_ext.lease import Standing
from hub_ext.policy.model import Policy
from hub_ext.units import UNITS_PER_GPU, Units, quota_text
from tests.support.pools import Commons, make_policy, request, team

NAMES = ("a", "b", "c")
PROFILES = ("one", "two", "half", "small", "cpu")
eighths = st.integers(0, 16).map(lambda n: quota_text(Units(n * UNITS_PER_GPU // 8)))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Any quotas, over capacity too: admission must not trust that they were checked."""
    limits = st.none() | eighths
    teams = {}
    for name in NAMES:
        quota = {}
        for pool in ("whole", "cut"):
            one = {"nominal": draw(eighths)}
            for field in ("borrowing_limit", "lending_limit"):
                limit = draw(limits)
                if limit is not None:
                    one[field] = limit
            quota[pool] = one
        over = draw(st.sampled_from(["borrow", "queue", "deny"]))
        caps = {}
        if draw(st.booleans()):
            caps["most_leases_per_person"] = draw(st.integers(1, 3))
        teams[name] = team(quota, over=over, name=name, **caps)
    return make_policy(
        teams,
        mode=draw(st.sampled_from(["enforce", "enforce", "advise", "observe"])),
        whole=draw(st.integers(1, 4)),
        cuts=(("3g.71gb", "1g.18gb", "1g.18gb"), ("1g.18gb",) * 3),
    )


steps = st.lists(
    st.tuples(
        st.sampled_from(["asks", "asks", "asks", "waits", "ends"]),
        st.sampled_from(NAMES),
        st.integers(0, 4),
        st.sampled_from(PROFILES),
    ),
    max_size=14,
)


def check_capacity(commons: Commons) -> None:
    held = [d.id for d in chain.from_iterable(x.devices for x in commons.leases if x.holding)]
    assert len(held) == len(set(held))
    assert set(held) <= {device.id for device in commons.devices}


def check_limits(commons: Commons) -> None:
    """Where quota is enforced no team exceeds its limits, and only what is lendable is borrowed."""
    policy = commons.policy
    for pool in ("whole", "cut"):
        used = {
            name: sum(
                x.units for x in commons.leases if x.holding and (x.team, x.pool) == (name, pool)
            )
            for name in NAMES
        }
        borrowed = lendable = 0
        for name in NAMES:
            rules = policy.teams[name]
            quota = rules.quota[pool]
            limit = quota.borrowing_limit if rules.over_quota == "borrow" else 0
            if limit is not None:
                assert used[name] <= quota.nominal + limit
            borrowed += max(0, used[name] - quota.nominal)
            lent = quota.nominal if quota.lending_limit is None else quota.lending_limit
            lendable += min(quota.nominal, lent)
        capacity = sum(
            UNITS_PER_GPU if d.mig_profile is None else UNITS_PER_GPU // 8 * (d.size or 0)
            for d in commons.devices
            if d.pool == pool
        )
        nominal = sum(policy.teams[name].quota[pool].nominal for name in NAMES)
        assert borrowed <= lendable + max(0, capacity - nominal)


@given(policies(), steps)
def test_no_load_breaks_capacity_or_a_limit(
    policy: Policy, load: list[tuple[str, str, int, str]]
) -> None:
    commons = Commons(policy)
    for step, name, person, profile in load:
        user = f"{name}-{person}"
        if step == "ends" or any(lease.key.user == user for lease in commons.leases):
            commons.ends(user)
        elif step == "waits":
            if profile != "cpu":
                commons.waits(user, name, profile)
        else:
            answer = commons.asks(user, name, profile)
            assert (answer.reason.message, answer.reason.code) != ("", "")
            if isinstance(answer, Admitted) and profile == "cpu":
                assert answer.standing is Standing.unmetered
        check_capacity(commons)
        if policy.modes.quota == "enforce":
            check_limits(commons)


@given(policies(), steps, st.sampled_from(NAMES), st.sampled_from(PROFILES))
def test_a_decision_is_the_same_again_and_in_any_order_of_the_input(
    policy: Policy,
    load: list[tuple[str, str, int, str]],
    name: str,
    profile: str,
) -> None:
    commons = Commons(policy)
    for step, team_name, person, wish in load:
        user = f"{team_name}-{person}"
        if any(lease.key.user == user for lease in commons.leases):
            continue
        if step == "waits" and wish != "cpu":
            commons.waits(user, team_name, wish)
        else:
            commons.asks(user, team_name, wish)
    asked = request(policy, "me", name, profile, at=commons.now)
    snapshot = commons.snapshot
    first = decide(snapshot, asked)
    assert decide(snapshot, asked) == first
    turned = snapshot.model_copy(
        update={"leases": snapshot.leases[::-1], "devices": snapshot.devices[::-1]}
    )
    assert decide(turned, asked) == first


@given(policies(), steps)
def test_observing_admits_all_that_enforcing_admits_on_the_same_devices(
    policy: Policy, load: list[tuple[str, str, int, str]]
) -> None:
    strict = policy.model_copy(
        update={"modes": policy.modes.model_copy(update={"quota": "enforce"})}
    )
    loose = policy.model_copy(
        update={"modes": policy.modes.model_copy(update={"quota": "observe"})}
    )
    commons = Commons(strict)
    for _step, name, person, profile in load:
        user = f"{name}-{person}"
        if any(lease.key.user == user for lease in commons.leases):
            continue
        watched = decide(
            commons.snapshot.model_copy(update={"policy": loose}),
            request(loose, user, name, profile, at=commons.now),
        )
        answer = commons.asks(user, name, profile)
        if isinstance(answer, Admitted):
            assert isinstance(watched, Admitted)
            assert (watched.devices, watched.standing) == (answer.devices, answer.standing)
            assert watched.would_have is None
        elif isinstance(watched, Admitted):
            assert watched.would_have is standing_of(answer)

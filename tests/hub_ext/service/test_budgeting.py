"""What is kept from look to look is what a first look would find, whatever has happened."""

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from hub_ext.errors import RefusedError
from hub_ext.lease import GOVERNOR, Cause, Grant, Reason, When
from hub_ext.lease.budgets import Used
from hub_ext.service.books.budgeting import Budgets
from tests.support.governing import POLICY, START, Site, site_in

MONEY = """\
budgets:
  month: {team: vision, amount: "1000.00", hard: true}
  own: {team: vision, each: person, amount: "500.00", hard: true}
  maps: {project: maps, amount: "900.00", steps: [{at: 100, act: no_new}]}
  winter: {team: speech, amount: "9.00", period: {from: 2026-11-30, until: 2026-12-01}, hard: true}
"""
PRICES = '  - {pool: whole, from: 2026-12-01, per_hour: "7.20"}\n'
TEXT = POLICY.replace("prices:\n", f"prices:\n{PRICES}") + MONEY
"""Budgets by month and term, and a price that changes where both begin anew."""

Figures = dict[str, tuple[dict[str, Used], dict[str, int]]]


def figures(site: Site, budgets: Budgets) -> Figures:
    """All that budgets say now, by budget and period."""
    with site.governor._desk.turn(site.now) as turn:
        found = budgets.now(turn.tx, turn.policy, 1, site.now)
    return {
        f"{one.name} {one.start}": (
            {holder: one.of(holder) for holder in one.holders},
            {name: micro for name, micro in one.committed.items() if micro},
        )
        for one in found
    }


def same(kept: Figures, anew: Figures) -> None:
    """Compare; a sum of roundings may differ by a micro-unit a lease."""
    assert kept.keys() == anew.keys()
    for name, (used, committed) in kept.items():
        there, expected = anew[name]
        assert committed == expected
        for holder in used.keys() | there.keys():
            one, other = used.get(holder, Used()), there.get(holder, Used())
            assert sum(one) == sum(other)
            assert abs(one.spent_micro - other.spent_micro) <= 1


class Story:
    """Acts of people, as numbers choose them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.running: list[Grant] = []

    def start(self, who: int) -> None:
        user, profile = (("vera", "small"), ("viktor", "one"), ("sam", "one"), ("vera", "one"))[who]
        with suppress(RefusedError):
            server = f"s{len(self.running)}-{who}"
            self.running.append(self.site.run(user, profile, server=server))

    def wait(self, who: int) -> None:
        with suppress(RefusedError):
            self.site.ask(self.site.asking("sue", "one", server=f"w{who}", when=When.hold))
        self.site.serve()

    def stop(self, who: int) -> None:
        if self.running:
            self.site.stop(self.running.pop(who % len(self.running)))

    def ask_stop(self, who: int) -> None:
        if self.running:
            lease_id = self.running[who % len(self.running)].lease_id
            why = Reason(code="x", message="Enough.")
            self.site.governor.ask_stop(
                lease_id, cause=Cause.admin, reason=why, actor=GOVERNOR, now=self.site.now
            )

    def extend(self, who: int) -> None:
        if self.running:
            lease_id = self.running[who % len(self.running)].lease_id
            with suppress(RefusedError):
                self.site.governor.extend(lease_id, seconds=600, actor=GOVERNOR, now=self.site.now)

    def pass_time(self, who: int) -> None:
        self.site.later((7, 1234, 3600, -90)[who])
        self.site.report_devices()


ACTS = ("start", "start", "wait", "stop", "ask_stop", "extend", "pass_time", "pass_time")


@settings(max_examples=15)
@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 3)), min_size=3, max_size=25))
def test_kept_figures_are_those_of_a_first_look(acts: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder, site_in(Path(folder) / "state", policy=TEXT) as site:
        site.now = START + timedelta(hours=14)
        site.report_devices()
        story, kept = Story(site), Budgets()
        for act, who in acts:
            getattr(story, act)(who)
            same(figures(site, kept), figures(site, Budgets()))


def test_nothing_is_left_where_nothing_runs() -> None:
    with TemporaryDirectory() as folder, site_in(Path(folder) / "state", policy=TEXT) as site:
        kept = Budgets()
        grants = [site.run("vera", "small", server=name) for name in ("a", "b", "c")]
        figures(site, kept)
        for grant in grants:
            site.later(600)
            site.stop(grant)
            figures(site, kept)
        assert not any(one.steady or one.odd or one.known for one in kept._countings)
        assert kept._entries == {}

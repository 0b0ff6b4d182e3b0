"""Spend and quota for Prometheus: exact, by team and flavor, and never by person."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hub_ext.service.http import metrics
from tests.support.governing import POLICY, Site, site_in

BUDGETED = POLICY.replace(
    "prices:",
    "budgets:\n"
    '  vision-month: {team: vision, amount: "100.00", period: month}\n'
    '  each-one: {team: vision, each: person, amount: "50.00", period: month}\n'
    "prices:",
)


def written(site: Site) -> dict[str, float]:
    text = metrics.text(metrics.gather(site.governor, site.now), {}).decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _space, value in lines}


def test_the_month_is_told_with_what_runs_and_without_the_month_before(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=BUDGETED) as site:
        grant = site.run("vera")
        site.later(3600)
        site.stop(grant)
        site.report_devices()
        site.run("vera")
        site.run("viktor", "small")
        site.later(1800)
        found = written(site)
        month = 'gpu_commons_spend_month{currency="EUR",flavor="%s",team="vision"}'
        assert found[month % "gpu-1"] == 5.4
        assert found[month % "1g.18gb"] == 0.36
        assert found[month.replace("month", "rate") % "gpu-1"] == 3.6
        assert found['gpu_commons_gpu_hours_month{flavor="gpu-1",team="vision"}'] == 1.5
        assert found["gpu_commons_spend_month_start_seconds"] == (
            datetime(2026, 11, 1, tzinfo=UTC).timestamp()
        )
        quota = 'gpu_commons_quota_gpus{kind="%s",pool="whole",team="vision"}'
        assert (found[quota % "nominal"], found[quota % "held"]) == (1, 1)
        assert found[quota % "borrowed"] == 0
        budget = 'gpu_commons_budget{budget="vision-month",currency="EUR",kind="%s"}'
        assert (found[budget % "amount"], found[budget % "spent"]) == (100, 5.76)
        # In December only what is held then counts.
        site.now = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
        site.now += timedelta(hours=2)
        assert written(site)[month % "gpu-1"] == 3.6


def test_what_has_no_price_is_hours_and_no_money(tmp_path: Path) -> None:
    unpriced = POLICY.replace("  - {pool: mig, flavor: 1g.18gb, from: 2026-01-01, per_hour", "  #")
    with site_in(tmp_path, policy=unpriced) as site:
        site.run("vera", "small")
        site.later(3600)
        found = written(site)
        assert not [name for name in found if name.startswith("gpu_commons_spend_month{")]
        hours = 'gpu_commons_unpriced_gpu_hours_month{flavor="1g.18gb",team="vision"}'
        assert found[hours] == 0.125


def test_no_person_server_or_lease_is_a_label(tmp_path: Path) -> None:
    with site_in(tmp_path, policy=BUDGETED) as site:
        for user in ("vera", "viktor"):
            site.run(user, "small", server="notes")
        site.later(60)
        text = "\n".join(written(site))
        for word in ("vera", "viktor", "notes", "l-000", "each-one"):
            assert word not in text
        before = len(written(site))
        site.run("vera", "small", server="other")
        assert len(written(site)) == before

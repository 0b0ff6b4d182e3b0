"""The whole loop in a browser: a real hub, governor, agent and server, and JupyterLab's panel."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.e2e.rules import GROUPS, LIFE, RULES, write_rules
from tests.support.hub import RealHub, governed
from tests.support.lab_browser import LabPage, chromium
from tests.support.lab_server import place_extension

pytestmark = [pytest.mark.hub, pytest.mark.browser, pytest.mark.timeout(420)]

SMALL = {**RULES["profiles"]["small"], "lifetime": {**LIFE, "default": "1h"}}
DEAR = {
    "profiles": {**RULES["profiles"], "small": SMALL},
    "prices": [{"pool": "slices", "flavor": "1g.18gb", "from": "2026-01-01", "per_hour": "3600"}],
}
"""A euro a second, so that a person need not wait to see it rise."""

RULE = {
    "applies": ["mig"],
    "limit": "8s",
    "notice": "20s",
    "start_grace": "1s",
    "keep": "10s",
}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RealHub]:
    policy = write_rules(tmp_path / "policy.yaml", **DEAR)
    given = place_extension(tmp_path / "jupyter")
    extra = governed(policy, tmp_path / "hub/state")
    extra += f"c.Spawner.environment.update({given!r})\n"
    with RealHub.running(tmp_path / "hub", extra=extra, groups=GROUPS) as hub:
        hub.wait(hub.healthy, "the governor to hear of the devices")
        yield hub


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[BrowserContext]:
    with chromium(tmp_path / "profile") as context:
        yield context


def log_in(page: Page, hub: RealHub, name: str) -> None:
    page.goto(f"{hub.url}/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("any")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/hub/**")


def so_far(lab: LabPage) -> float:
    found = re.search(r"EUR ([\d.]+) so far", lab.status.text_content() or "")
    assert found
    return float(found[1])


def test_browser_cost_rises_idleness_is_announced_kept_and_then_stops_the_server(
    hub: RealHub, browser: BrowserContext, tmp_path: Path
) -> None:
    page = browser.new_page()
    log_in(page, hub, "ada")
    hub.start_server("ada", {"profile": "small"})
    lab = LabPage(page, f"{hub.url}/user/ada", token="")
    expect(lab.status).to_contain_text("so far")
    first = so_far(lab)
    deadline = time.monotonic() + 30
    while (second := so_far(lab)) <= first:
        assert time.monotonic() < deadline, "the cost stands still"
        lab.page.wait_for_timeout(200)
    print(f"cost so far: EUR {first} then EUR {second}")
    lab.open()
    expect(lab.panel).to_contain_text("simulated")
    expect(lab.panel).to_contain_text("Guaranteed")
    lab.picture("hub-cost")

    write_rules(tmp_path / "policy.yaml", **DEAR, idle={"slices": RULE})
    expect(lab.notice).to_contain_text("Stops in", timeout=90_000)
    expect(lab.toast).to_be_visible()
    expect(lab.status).to_contain_text("Stops in")
    lab.picture("hub-notice")
    lab.notice.get_by_role("button", name="Keep").click()
    expect(lab.notice).to_have_count(0)
    expect(lab.panel).to_contain_text("Kept until")
    lab.picture("hub-kept")

    expect(lab.notice).to_contain_text("Stops in", timeout=90_000)
    hub.wait(lambda: not hub.leases(), "the idle server to be stopped", seconds=90)
    why = lab.panel.get_by_text("Why did this server stop?")
    expect(why).to_be_visible(timeout=60_000)
    expect(lab.panel).to_contain_text("The server was stopped to free its GPU. Idle:")
    expect(lab.notice).to_have_count(0)
    expect(lab.toast).to_have_count(0)
    lab.picture("hub-idle-stop")
    page.goto(f"{hub.url}{why.get_attribute('href')}")
    expect(page.get_by_role("main")).to_contain_text("idle")
    assert lab.own_faults == []
    lab.picture("hub-idle-why")


def test_browser_a_stop_ends_on_the_page_that_tells_why(
    hub: RealHub, browser: BrowserContext
) -> None:
    page = browser.new_page()
    log_in(page, hub, "ada")
    hub.start_server("ada", {"profile": "small"})
    lab = LabPage(page, f"{hub.url}/user/ada", token="")
    lab.open()
    lab.panel.get_by_label("Extend by").select_option("2 h")
    lab.panel.get_by_role("button", name="Extend", exact=True).click()
    expect(lab.status).to_contain_text(re.compile(r"2 h 5\d min left"))
    lab.panel.get_by_role("button", name="Save and stop this server…").click()
    page.get_by_role("dialog").get_by_role("button", name="Save and stop").click()
    page.wait_for_url("**/services/gpu-commons/why/ada/-", timeout=60_000)
    expect(page.get_by_role("main")).to_contain_text("ada")
    assert lab.own_faults == []
    lab.picture("hub-stopped")
    hub.wait(lambda: not hub.leases(), "the lease to close")

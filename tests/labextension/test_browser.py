"""A person in JupyterLab: what the status bar and the panel tell, and what the buttons do."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from hub_ext.lease import Cause, Counted, DeviceReading, Problem, VerdictState, WaitsFor
from tests.support.lab_browser import LabPage, chromium
from tests.support.lab_governor import LabGovernor, a_keep, a_lease, without_gpu
from tests.support.lab_server import LabServer, hub_environment, lab_server

pytestmark = pytest.mark.browser

IDLE = "Nothing has run on the GPU for 30 minutes, which is the limit; a stop frees it for others."
PLANTED_THROW = """
Object.defineProperty(document, 'hidden', { configurable: true, get() {
  const fault = new Error('planted');
  if (window.planted || !fault.stack.includes('/jupyterhub-gpu-commons/')) return false;
  window.planted = true;
  throw fault;
} })
"""
"""The next line of ours that asks whether the page is hidden throws, and no other."""
SLOW_WAIT_S = 25
THEMES = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with chromium(tmp_path_factory.mktemp("profile")) as context:
        yield context


@pytest.fixture(scope="module")
def server(governor: LabGovernor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("lab")
    with lab_server(folder, hub_environment(governor.url), app="jupyterlab") as running:
        yield running


@pytest.fixture(scope="module")
def opened(server: LabServer, browser: BrowserContext) -> Iterator[LabPage]:
    lab = LabPage(browser.new_page(), server.url)
    assert lab.own_faults == []
    yield lab
    lab.page.close()


@pytest.fixture
def lab(opened: LabPage, governor: LabGovernor) -> Iterator[LabPage]:
    """The one open page, with the governor's story begun anew; nothing on it may throw."""
    standard = LabGovernor()
    governor.calls.clear()
    governor.change(
        lease=standard.lease,
        ended=None,
        readings=standard.readings,
        verdict=standard.verdict,
        waits_for=None,
        keep=standard.keep,
        extend_max_s=10800,
        refusal=None,
        silent=False,
        switch_to=None,
    )
    expect(opened.status).to_contain_text("H200")
    expect(opened.status).to_contain_text("3 h 2")
    opened.faults.clear()
    yield opened
    assert opened.faults == []


def test_the_status_item_is_a_button_with_gpu_rate_cost_and_time_left(
    lab: LabPage, governor: LabGovernor
) -> None:
    expect(lab.status).to_have_text(
        re.compile(
            r"H200 · MIG 1g\.18gb · EUR 4\.20 / h · EUR \d+\.\d\d so far · 3 h \d\d min left"
            r" · simulated"
        )
    )
    assert "Open the GPU panel" in (lab.status.get_attribute("title") or "")
    lab.picture("status")


def test_the_cost_rises_in_status_item_and_panel(lab: LabPage, governor: LabGovernor) -> None:
    def reading() -> float:
        text = lab.panel.locator(".jp-GpuCommons-cost").text_content() or ""
        return float(text.removeprefix("EUR "))

    governor.speed = 120
    lab.open()
    first = reading()
    lab.page.wait_for_function(
        "first => parseFloat(document.querySelector('.jp-GpuCommons-cost')"
        ".textContent.replace('EUR ', '')) > first",
        arg=first,
    )
    second = reading()
    assert second > first
    expect(lab.status).to_contain_text("so far")
    governor.speed = 1


def test_the_panel_tells_lease_environment_device_and_isolation(lab: LabPage) -> None:
    lab.open()
    for words in (
        "simulated",
        "11 GiB of 18 GiB",
        "vision",
        "segmentation",
        "Borrowed",
        "vision-2026",
        "4f2d8a6c1b7e",
        "MIG device",
        "SIM-MIG-2b9c1f5e-6a0d-4c6e-9f5b-0e6f2d1c7a11",
        "In use.",
    ):
        expect(lab.panel).to_contain_text(words)
    expect(lab.panel.get_by_role("meter", name="Utilisation")).to_have_attribute(
        "aria-valuenow", "64"
    )
    expect(lab.panel.get_by_role("timer").first).to_have_attribute("aria-live", "off")
    link = lab.panel.get_by_role("link", name="Usage and cost of all my servers")
    expect(link).to_have_attribute("href", "/services/gpu-commons/")
    lab.picture("panel")


def test_a_notice_stands_in_toast_panel_and_status_item_and_keep_calls_it_off(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    governor.announce(Cause.culled, IDLE, in_s=300)
    expect(lab.toast).to_be_visible()
    expect(lab.status).to_contain_text("Stops in 4 min")
    expect(lab.notice).to_contain_text(IDLE)
    before = lab.notice.get_by_role("timer").text_content()
    expect(lab.notice.get_by_role("timer")).not_to_have_text(before or "")
    lab.picture("notice")
    assert lab.serious_faults() == []
    lab.notice.get_by_role("button", name="Keep for 1 h (EUR 4.20)").click()
    expect(lab.notice).to_have_count(0)
    expect(lab.toast).to_have_count(0)
    expect(lab.panel).to_contain_text("Kept until")
    expect(lab.status).to_contain_text("EUR 4.20 / h")
    assert governor.calls == [("keep", {})]


def test_the_panel_tells_rule_hold_and_what_one_more_keep_costs(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    held = governor.verdict
    assert held is not None
    quiet = {"state": VerdictState.quiet, "rule": "gpus", "held_by": "input"}
    governor.change(verdict=held.model_copy(update=quiet))
    idleness = lab.panel.get_by_role("region", name="Idleness")
    expect(idleness).to_contain_text("gpus")
    expect(idleness).to_contain_text("somebody worked in it")
    expect(idleness).to_contain_text("over the last")
    expect(idleness.get_by_text("l-5f2e8c1a9b3d7e60.2")).to_be_visible()
    week = idleness.get_by_role("meter", name="Kept, seven days")
    expect(week).to_have_attribute("aria-valuetext", "6 h of 24 h")
    expect(idleness.get_by_role("button", name="Keep for 1 h (EUR 4.20)")).to_be_visible()
    lab.picture("keep")
    assert lab.serious_faults() == []
    now = datetime.now(UTC)
    governor.change(
        keep=a_keep(now, adds_s=0, until=None, ends_by="week", free_at=now + timedelta(hours=3))
    )
    expect(idleness).to_contain_text("Nothing is left of this week; some is free again at")
    expect(idleness.get_by_role("button")).to_have_count(0)


def test_advice_is_no_announced_stop(lab: LabPage, governor: LabGovernor) -> None:
    lab.open()
    governor.announce(
        Cause.culled, "Others may be waiting for this GPU.", in_s=9000, code="idle-advice"
    )
    expect(lab.panel.get_by_role("region", name="Advice")).to_contain_text("Others may be waiting")
    expect(lab.status).to_contain_text("idle · H200")
    expect(lab.notice).to_have_count(0)
    expect(lab.toast).to_have_count(0)
    governor.call_off()


def test_advice_on_a_smaller_profile_leads_to_the_change(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    words = "In use, but not its GPU. The profile CPU only (no charge for GPUs) would do."
    governor.announce(Cause.culled, words, in_s=9000, code="smaller-advice")
    advice = lab.panel.get_by_role("region", name="Advice")
    expect(advice).to_contain_text("A smaller profile would do")
    expect(advice).to_contain_text(words)
    advice.get_by_role("button", name="Change profile…").click()
    dialog = lab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("CPU only")
    dialog.get_by_role("button", name="Keep the present one").click()
    expect(dialog).to_have_count(0)
    governor.call_off()


def test_a_notice_of_the_end_offers_to_extend(lab: LabPage, governor: LabGovernor) -> None:
    lab.open()
    governor.announce(Cause.expired, "The lease ends; it can be extended by 3 hours.", in_s=600)
    lab.notice.get_by_role("button", name="Extend…").click()
    dialog = lab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("By how long")
    lab.picture("extend")
    dialog.get_by_role("button", name="Extend").click()
    expect(dialog).to_have_count(0)
    expect(lab.page.get_by_text("Lease extended by 30 min.")).to_be_visible()
    assert governor.calls == [("extend", {"seconds": 1800})]
    governor.call_off()
    expect(lab.notice).to_have_count(0)


def test_the_panel_extends_by_what_was_chosen_and_within_what_is_left(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    lab.panel.get_by_label("Extend by").select_option("1 h")
    lab.panel.get_by_role("button", name="Extend", exact=True).click()
    expect(lab.status).to_contain_text("4 h 2")
    assert governor.calls == [("extend", {"seconds": 3600})]
    governor.change(extend_max_s=0)
    expect(lab.panel).to_contain_text("The policy allows no extension.")


def test_a_refusal_is_shown_in_the_governors_words(lab: LabPage, governor: LabGovernor) -> None:
    lab.open()
    words = "The longest lifetime of this profile is 8h, and 10m are left."
    governor.refusal = Problem(title="No", status=409, detail=words, code="too-long")
    lab.panel.get_by_role("button", name="Extend", exact=True).click()
    dialog = lab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("The lease was not extended")
    expect(dialog).to_contain_text(words)
    governor.refusal = None
    dialog.get_by_role("button", name="OK").click()


def test_another_profile_is_chosen_waited_for_and_left(lab: LabPage, governor: LabGovernor) -> None:
    lab.open()
    lab.panel.get_by_role("button", name="Change profile…").click()
    dialog = lab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("It has MIG 1g.18gb on H200 now")
    expect(dialog).to_contain_text("CPU only no GPU for team vision · no quota needed")
    expect(dialog).to_contain_text("would wait · EUR 4.20 an hour")
    expect(dialog).to_contain_text("The team holds 2 of its 2 guaranteed GPUs.")
    lab.picture("switch")
    dialog.get_by_role("radio").nth(1).check()
    dialog.get_by_role("button", name="Change when there is room").click()
    expect(dialog).to_have_count(0)
    progress = lab.panel.get_by_role("region", name="Change of profile")
    expect(progress).to_contain_text("Changing to Whole card")
    (called,) = governor.calls
    assert called[0] == "switch"
    assert called[1]["choice"]["profile"] == "card"
    expect(progress).to_contain_text("number 2 for pool h200")
    assert lab.serious_faults() == []
    governor.announce(Cause.replaced, "You asked for the profile card here.", in_s=30)
    expect(lab.notice).to_contain_text("You asked for the profile card here.")
    governor.call_off()
    progress.get_by_role("button", name="Stay with the present profile").click()
    expect(progress).to_have_count(0)
    expect(lab.panel.get_by_role("button", name="Change profile…")).to_be_enabled()
    assert governor.calls[1:] == [("cancel", {})]


def test_who_keeps_the_present_profile_asks_for_nothing(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    lab.panel.get_by_role("button", name="Change profile…").click()
    dialog = lab.page.get_by_role("dialog")
    dialog.get_by_role("radio").first.check()
    dialog.get_by_role("button", name="Keep the present one").click()
    expect(dialog).to_have_count(0)
    assert governor.calls == []


def test_unknown_is_said_and_never_drawn_as_zero(lab: LabPage, governor: LabGovernor) -> None:
    lab.open()
    assert governor.verdict is not None
    reading: DeviceReading = governor.readings[0].model_copy(
        update={"util_percent": None, "absent": "the driver has no utilisation with MIG on"}
    )
    verdict = governor.verdict.model_copy(
        update={
            "state": VerdictState.unknown,
            "words": "Unknown: no fresh figure of the GPU. Unknown is not idle.",
        }
    )
    governor.change(readings=(reading,), verdict=verdict)
    expect(lab.panel).to_contain_text("unknown: the driver has no utilisation with MIG on")
    expect(lab.panel.get_by_role("meter", name="Utilisation")).to_have_count(0)
    expect(lab.panel).to_contain_text("Unknown is not idle.")


def test_what_the_gpu_waits_for_is_told_with_its_figures_and_a_remedy(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    section = lab.panel.get_by_role("region", name="What the GPU waits for")
    expect(section).to_have_count(0)
    found = WaitsFor(
        cause="cpu",
        at=datetime.now(UTC),
        window_s=600,
        words="The GPU is 40 % busy and waits for the CPU that feeds it (1.01 of 8 cores).",
        remedy="Let several processes prepare the data: DataLoader(num_workers=…).",
        evidence=(
            Counted(name="CPU", state="short", value="1.01 of 8 cores"),
            Counted(name="Network", state="unknown", value="not measured"),
        ),
    )
    governor.change(waits_for=found)
    expect(section).to_contain_text("waits for the CPU that feeds it (1.01 of 8 cores)")
    expect(section).to_contain_text("Try first: Let several processes prepare the data")
    expect(section).to_contain_text("At its limit · 1.01 of 8 cores")
    expect(section).to_contain_text("Unknown · not measured")
    lab.picture("waits-for")


def test_a_profile_without_gpu_and_without_price_is_called_so(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.open()
    governor.change(lease=without_gpu(a_lease(datetime.now(UTC))))
    expect(lab.status).to_contain_text("No GPU · not priced")
    expect(lab.panel).to_contain_text("That does not mean it is free.")
    expect(lab.panel).to_contain_text("This profile has no GPU")
    lab.picture("no-gpu")


def test_a_silent_governor_and_a_lost_lease_are_told(lab: LabPage, governor: LabGovernor) -> None:
    lab.open()
    governor.change(silent=True)
    expect(lab.status).to_contain_text("GPU: no contact")
    expect(lab.panel).to_contain_text("The governor has not answered since")
    expect(lab.panel).to_contain_text("vision")
    lab.picture("no-contact")
    gone = a_lease(datetime.now(UTC), cause=Cause.lost, closed_at=datetime.now(UTC))
    governor.change(silent=False, lease=None, ended=gone)
    expect(lab.status).to_contain_text("GPU: no lease")
    expect(lab.panel).to_contain_text("the server was gone")


@pytest.mark.parametrize("theme", THEMES)
def test_themes_keep_it_readable(lab: LabPage, governor: LabGovernor, theme: str) -> None:
    lab.open()
    lab.theme(theme)
    assert lab.serious_faults() == []
    governor.announce(Cause.culled, IDLE, in_s=300)
    expect(lab.notice).to_contain_text("Stops in")
    assert lab.serious_faults() == []
    lab.picture(theme.replace("JupyterLab ", "").replace(" ", "-").lower())
    governor.call_off()
    expect(lab.notice).to_have_count(0)
    lab.theme(THEMES[0])


def nobody_watches(lab: LabPage, governor: LabGovernor) -> None:
    """Wait until the extension asks in its slow rhythm, as it has no open stream."""
    deadline = time.monotonic() + 20
    while governor.asks[-1][1] != SLOW_WAIT_S:
        assert time.monotonic() < deadline, "the page keeps its stream"
        lab.page.wait_for_timeout(50)


def test_a_hidden_page_closes_its_stream_and_comes_back(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.hide(hidden=True)
    nobody_watches(lab, governor)
    governor.change(lease=without_gpu(a_lease(datetime.now(UTC))))
    lab.page.wait_for_timeout(500)
    expect(lab.status).to_contain_text("H200")
    lab.hide(hidden=False)
    expect(lab.status).to_contain_text("No GPU")


def test_a_notice_reaches_a_hidden_page_over_the_event_bus(
    lab: LabPage, governor: LabGovernor
) -> None:
    lab.hide(hidden=True)
    nobody_watches(lab, governor)
    governor.announce(Cause.culled, IDLE, in_s=300)
    expect(lab.status).to_contain_text("Stops in 4 min")
    expect(lab.toast).to_be_visible()
    lab.hide(hidden=False)
    governor.call_off()
    expect(lab.status).to_contain_text("H200")


def test_all_commands_are_in_the_palette(lab: LabPage) -> None:
    lab.run("apputils:activate-command-palette")
    palette = lab.page.locator(".lm-CommandPalette")
    palette.locator("input").fill("GPU")
    for label in (
        "Show GPU Lease",
        "Extend GPU Lease…",
        "Change GPU Profile…",
        "Save and Stop GPU Server…",
    ):
        expect(palette.get_by_text(label, exact=True)).to_be_visible()
    priced = re.compile(r"^Keep GPU Server for .+ \(.+\)$")
    expect(palette.get_by_text(priced)).to_be_visible()
    lab.page.keyboard.press("Escape")
    expect(palette).to_be_hidden()


def test_what_our_code_throws_is_seen_with_its_place(lab: LabPage) -> None:
    lab.open()
    with lab.page.expect_event("pageerror"):
        lab.page.evaluate(PLANTED_THROW)
    lab.page.evaluate("delete document.hidden")
    assert lab.own_faults == lab.faults
    assert lab.faults[0].startswith("Error: planted")
    lab.faults.clear()


def test_a_stop_asks_first_saves_stops_waits_and_leaves(
    governor: LabGovernor, tmp_path: Path, browser: BrowserContext
) -> None:
    governor.change(lease=a_lease(datetime.now(UTC)))
    governor.calls.clear()
    governor.stopped.clear()
    (folder := tmp_path / "lab" / "work").mkdir(parents=True)
    (folder / "words.txt").write_text("before\n")
    with lab_server(tmp_path / "lab", hub_environment(governor.url), app="jupyterlab") as server:
        lab = LabPage(browser.new_page(), server.url)
        lab.page.route(
            "**/services/gpu-commons/**",
            lambda route: route.fulfill(content_type="text/html", body="<h1>Why</h1>"),
        )
        lab.run("docmanager:open", path="words.txt")
        editor = lab.page.locator(".cm-content")
        editor.click()
        lab.page.keyboard.type("typed and not saved ")
        lab.open()
        lab.panel.get_by_role("button", name="Save and stop this server…").click()
        dialog = lab.page.get_by_role("dialog")
        expect(dialog).to_contain_text("Cost so far: EUR")
        expect(dialog.get_by_role("button", name="Keep working")).to_be_focused()
        lab.picture("stop")
        lab.page.keyboard.press("Enter")
        expect(dialog).to_have_count(0)
        assert governor.calls == []

        lab.panel.get_by_role("button", name="Save and stop this server…").click()
        dialog.get_by_role("button", name="Save and stop").click()
        assert governor.stopped.wait(30)
        assert "typed and not saved" in (folder / "words.txt").read_text()
        expect(lab.panel).to_contain_text("This page leaves when the server is gone")
        lab.picture("stopping")
        assert "/lab" in lab.page.url
        server.end()
        lab.page.wait_for_url("**/services/gpu-commons/why/alice/-")
        expect(lab.page.get_by_role("heading")).to_have_text("Why")
        assert lab.own_faults == []
        lab.page.close()


def test_notebook_7_has_the_panel_the_commands_and_the_toast(
    governor: LabGovernor, tmp_path: Path, browser: BrowserContext
) -> None:
    governor.change(lease=a_lease(datetime.now(UTC)))
    with lab_server(tmp_path / "nb", hub_environment(governor.url), app="notebook") as server:
        notebook = LabPage(browser.new_page(), server.url, "tree")
        notebook.page.wait_for_function(
            "window.jupyterapp.commands.hasCommand('gpu-commons:open-panel')"
        )
        notebook.run("gpu-commons:open-panel")
        expect(notebook.panel).to_contain_text("EUR 4.20 / h")
        governor.announce(Cause.culled, IDLE, in_s=300)
        expect(notebook.toast).to_be_visible()
        expect(notebook.notice).to_contain_text("Stops in 4 min")
        notebook.picture("notebook")
        assert notebook.serious_faults() == []
        assert notebook.own_faults == []
        notebook.page.close()
    governor.call_off()

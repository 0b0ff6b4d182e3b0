"""A person's first hour with the demo in a real browser: form, Lab, cost, notice, stop, reason.

The stories share one demo and go on from each other; each fixture brings it to where its story
begins, so that any of them may run alone.
"""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.support.chromium import launched
from tests.support.demo import Demo, running
from tests.support.lab_browser import OURS, WAIT_MS
from tests.support.seen import dark, overflow, phone, picture, serious_faults

pytestmark = [pytest.mark.hub, pytest.mark.browser, pytest.mark.timeout(420)]

OWNER = "scientist-1"
PAGES = "/services/gpu-commons/"
WHY = f"{PAGES}why/{OWNER}/-"
SLICE = "flavor: 1g.18gb, from: 2026-01-01, per_hour:"
DEAR = (f'{SLICE} "0.60"', f'{SLICE} "36.00"')
"""A cent a second, so that nobody has to wait a minute to see the cost rise."""
HASTY = (
    ("limit: 2m", "limit: 15s"),
    ("notice: 1m", "notice: 30s"),
    ("start_grace: 1m", "start_grace: 5s"),
)
"""Idle times for people who watch, written into the policy while the server runs."""
PATIENT_MS = 120_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with running(tmp_path_factory.mktemp("walk") / "demo", GPU_COMMONS_CYCLE_S="1") as demo:
        demo.edit_policy(DEAR)
        yield demo


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    expect.set_options(timeout=WAIT_MS)
    with launched() as browser:
        yield browser


def log_in(chromium: Browser, demo: Demo, name: str) -> Page:
    """Open the printed address as one of the four people."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="Europe/Paris"
    )
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    page.goto(demo.url)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(demo.passwords[name])
    page.keyboard.press("Enter")
    page.locator("#logout").wait_for()
    return page


@pytest.fixture(scope="module")
def form(chromium: Browser, demo: Demo) -> Page:
    """The spawn page of a scientist who has just logged in."""
    page = log_in(chromium, demo, OWNER)
    expect(page.locator(".gpu-commons-offer")).to_have_count(5)
    return page


@pytest.fixture(scope="module")
def lab(form: Page) -> Page:
    """JupyterLab, started with the keyboard alone."""
    tab_to(form, "input[type=radio]:checked")
    form.keyboard.press("ArrowDown")
    form.keyboard.press("ArrowUp")
    form.keyboard.press("Space")
    tab_to(form, "[type=submit]")
    form.keyboard.press("Enter")
    form.wait_for_url(f"**/user/{OWNER}/lab**", timeout=PATIENT_MS)
    # JupyterLab's body clips and has no height, so axe takes all in it for hidden.
    form.locator("button.jp-GpuCommons-status").wait_for(timeout=PATIENT_MS)
    form.add_style_tag(content="html, body { height: 100vh }")
    form.locator("button.jp-GpuCommons-status").click()
    expect(panel(form).locator("h2")).to_be_visible()
    return form


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the element has the focus; fails where it cannot be reached so."""
    for _press in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("what => document.activeElement.matches(what)", selector):
            return
    raise AssertionError(f"Tab never comes to {selector}")


def status(page: Page) -> Locator:
    return page.locator("button.jp-GpuCommons-status")


def panel(page: Page) -> Locator:
    return page.get_by_role("region", name="GPU lease")


def notice(page: Page) -> Locator:
    return panel(page).get_by_role("region", name="Announced stop")


def toasts(page: Page) -> Locator:
    return page.locator(".Toastify__toast").filter(has_text="This server stops at")


@pytest.fixture(scope="module")
def noticed(lab: Page, demo: Demo) -> Page:
    """The same page once the idle server's stop is announced."""
    demo.edit_policy(*HASTY)
    expect(notice(lab)).to_be_visible(timeout=PATIENT_MS)
    return lab


@pytest.fixture(scope="module")
def stopped(noticed: Page, demo: Demo) -> Page:
    """The same page once nobody has answered the notice and the server is gone."""
    noticed.get_by_role("dialog").wait_for(timeout=PATIENT_MS)
    # The lease is closed once the process is proved gone, some seconds later.
    deadline = time.monotonic() + PATIENT_MS / 1000
    while "Why it ended" not in noticed.request.get(demo.url + WHY).text():
        assert time.monotonic() < deadline, "the lease is never closed"
        time.sleep(0.5)
    return noticed


def test_browser_the_form_tells_what_each_offer_is_and_why_it_can_start(form: Page) -> None:
    for offer in form.locator(".gpu-commons-offer").all():
        words = offer.inner_text()
        assert offer.locator("label").inner_text()
        standing = offer.locator(".gpu-commons-badge").first.inner_text()
        assert re.search("guaranteed|borrowed|no quota needed|have to wait|not possible", standing)
        if "no GPU" not in words:
            assert re.search(r"(\d+|none) free now", words)
            assert re.search(r"EUR \d+\.\d\d an hour, EUR \d+\.\d\d for \d+ hours", words)
            assert "simulated" in words
            assert re.search("Covered by the guarantee|Beyond the guarantee", words)
        else:
            assert "no charge for GPUs" in words
    expect(form.get_by_role("radio", name="Small slice")).to_be_checked()
    expect(form.get_by_text("Small slice can start now: its team's guarantee")).to_be_visible()
    form.get_by_text("Two cards", exact=True).click()
    expect(form.get_by_text("Two cards can start now, on quota that others")).to_be_visible()
    expect(form.get_by_text("Small slice can start now")).to_be_hidden()
    form.get_by_label("Lifetime").select_option("8h")
    expect(form.get_by_text("EUR 288.00 for 8 hours")).to_be_visible()
    form.get_by_label("Lifetime").select_option("")
    form.get_by_text("Small slice", exact=True).click()


def test_browser_the_form_is_read_by_everybody(form: Page) -> None:
    # What is around it, JupyterHub's orange button included, is JupyterHub's.
    assert serious_faults(form, [".gpu-commons"]) == []
    picture(form, "walk-form")
    form.evaluate("document.documentElement.dataset.bsTheme = 'dark'")
    assert serious_faults(form, [".gpu-commons"]) == []
    picture(form, "walk-form-dark")
    form.evaluate("document.documentElement.dataset.bsTheme = 'light'")
    with phone(form):
        picture(form, "walk-form-phone")
        assert overflow(form) <= 0


def test_browser_the_keyboard_alone_starts_jupyterlab_and_the_cost_rises(lab: Page) -> None:
    def reading() -> float:
        return float((panel(lab).locator(".jp-GpuCommons-cost").inner_text()).removeprefix("EUR "))

    first = reading()
    lab.wait_for_function(
        "first => parseFloat(document.querySelector('.jp-GpuCommons-cost')"
        ".textContent.replace('EUR ', '')) > first",
        arg=first,
    )
    second = reading()
    print(f"cost so far: EUR {first:.2f}, then EUR {second:.2f}")
    assert second > first
    expect(status(lab)).to_have_text(
        re.compile(r"H200 · MIG 1g\.18gb · EUR 36\.00 / h · EUR .+ so far · .+ left · simulated")
    )


def test_browser_the_panel_shows_environment_device_and_standing(lab: Page) -> None:
    for words in ("vision-env", "SIM-MIG-", "simulated", "Guaranteed", "cell-atlas", "Small slice"):
        expect(panel(lab)).to_contain_text(words)
    assert serious_faults(lab, OURS) == []
    picture(lab, "walk-lab")


def test_browser_work_in_a_terminal_shows_as_utilisation(lab: Page) -> None:
    lab.get_by_role("button", name="Terminal").click()
    prompt = lab.locator(".jp-Terminal textarea")
    prompt.wait_for(state="attached")
    prompt.focus()
    lab.keyboard.type("gpu-commons busy --gpu 80 --memory 12GiB --cpu 0.3 --for 15s\n")
    meter = panel(lab).get_by_role("meter", name="Utilisation")
    expect(meter).to_have_attribute("aria-valuenow", "80")
    expect(panel(lab)).to_contain_text("12 GiB of 18 GiB")
    expect(panel(lab)).to_contain_text("In use.")
    picture(lab, "walk-busy")
    expect(meter).to_have_attribute("aria-valuenow", "0", timeout=PATIENT_MS)


def test_browser_idleness_is_announced_once_in_panel_toast_and_status(noticed: Page) -> None:
    expect(status(noticed)).to_contain_text("Stops in")
    expect(notice(noticed)).to_contain_text("Idle: quiet for")
    expect(notice(noticed).get_by_role("button", name="Keep")).to_be_enabled()
    expect(toasts(noticed)).to_have_count(1)
    assert serious_faults(noticed, OURS) == []
    picture(noticed, "walk-notice")
    expect(toasts(noticed)).to_have_count(1)


def test_browser_the_page_of_the_stopped_server_says_why(stopped: Page) -> None:
    dialog = stopped.get_by_role("dialog")
    picture(stopped, "walk-stopped")
    expect(dialog).to_contain_text("The server was stopped to free its GPU. Idle: quiet for")
    expect(status(stopped)).to_contain_text("GPU: stopped")
    expect(panel(stopped)).to_contain_text("The server was stopped to free its GPU.")
    expect(notice(stopped)).to_have_count(0)
    expect(toasts(stopped)).to_have_count(0)
    assert serious_faults(stopped, OURS) == []
    dialog.get_by_role("button", name="Why?").click()
    stopped.wait_for_url(f"**{WHY}")
    expect(stopped.get_by_role("heading", level=1)).to_contain_text("Why it ended")


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("name", "path", "words"),
    [
        (OWNER, PAGES, ("Nothing of yours runs", "cell-atlas", "its GPU was idle", "Simulated")),
        (OWNER, WHY, ("Idle: quiet for", "Measured by", "Stop announced for", "Charged: EUR")),
        ("lead", f"{PAGES}team/vision", (OWNER, "cell-atlas", "held", "Simulated")),
        ("admin", f"{PAGES}admin", ("slices", "cards", "Generation 3 is in force", "limit: ")),
    ],
    ids=["usage", "why", "team", "admin"],
)
def test_browser_pages_show_to_each_what_is_theirs(
    chromium: Browser, demo: Demo, name: str, path: str, words: tuple[str, ...]
) -> None:
    page = log_in(chromium, demo, name)
    page.goto(demo.url + path)
    shot = f"walk-{path.removeprefix(PAGES).split('/')[0] or 'usage'}"
    main = page.get_by_role("main")
    for one in words:
        expect(main).to_contain_text(one)
    if "team" in path:
        expect(page.get_by_role("table").first).to_be_visible()
        page.wait_for_selector("[data-drawn]")
    assert serious_faults(page) == []
    picture(page, shot)
    with dark(page):
        assert serious_faults(page) == []
        picture(page, f"{shot}-dark")
    with phone(page):
        picture(page, f"{shot}-phone")
        assert overflow(page) <= 0
    page.context.close()


@pytest.mark.usefixtures("stopped")
def test_browser_a_stranger_is_not_shown_why(chromium: Browser, demo: Demo) -> None:
    page = log_in(chromium, demo, "scientist-2")
    answer = page.goto(demo.url + WHY)
    assert answer is not None
    assert answer.status in {403, 404}
    expect(page.locator("body")).not_to_contain_text("cell-atlas")
    page.context.close()

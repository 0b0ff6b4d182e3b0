"""Two people, two browsers, one device: borrow, be told, be stopped, and queue again."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from hub_ext.lease import Cause, LeaseState, OpenLease, Standing
from tests.e2e.rules import write_rules
from tests.support.chromium import FLAGS, PROGRAM
from tests.support.hub import RealHub, governed
from tests.support.lab_browser import WAIT_MS, LabPage
from tests.support.lab_server import place_extension
from tests.support.seen import overflow, phone, picture, serious_faults

pytestmark = [pytest.mark.hub, pytest.mark.browser, pytest.mark.timeout(420)]

ONE_SLICE = {
    "slices": {
        "model": "h200-141gb",
        "nodes": [{"name": "localhost", "gpus": 1, "geometry": [["1g.18gb"]]}],
        "min_runtime": "20s",
        "notice": "45s",
    }
}
TEAMS = {
    "vision": {
        "groups": ["vision"],
        "quota": {"slices": {"nominal": "0"}},
        "over_quota": "borrow",
    },
    "language": {
        "groups": ["language"],
        "quota": {"slices": {"nominal": "0.125"}},
        "over_quota": "borrow",
    },
}
GROUPS = {"vision": ["ada"], "language": ["cleo"]}
PATIENT_MS = 120_000


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[RealHub]:
    policy = write_rules(tmp_path / "policy.yaml", pools=ONE_SLICE, teams=TEAMS)
    given = place_extension(tmp_path / "jupyter")
    extra = governed(policy, tmp_path / "hub/state")
    extra += f"c.Spawner.environment.update({given!r})\n"
    with RealHub.running(tmp_path / "hub", extra=extra, groups=GROUPS) as hub:
        hub.wait(hub.healthy, "the governor to hear of the devices")
        yield hub


@pytest.fixture
def browsers(tmp_path: Path) -> Iterator[tuple[BrowserContext, BrowserContext]]:
    """Two browsers of two people: no cookie, no page in common."""
    with sync_playwright() as playwright:
        opened = [
            playwright.chromium.launch_persistent_context(
                tmp_path / name,
                executable_path=PROGRAM,
                headless=True,
                args=FLAGS,
                viewport={"width": 1280, "height": 900},
                locale="en-GB",
            )
            for name in ("ada", "cleo")
        ]
        for context in opened:
            context.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        try:
            yield opened[0], opened[1]
        finally:
            for context in opened:
                context.close()


def log_in(page: Page, hub: RealHub, name: str) -> None:
    page.goto(f"{hub.url}/hub/login")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("any")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/hub/**")


def start_from_form(page: Page, hub: RealHub, name: str, *, waits: bool) -> str:
    """Choose the slice on the form; return what the form said of it."""
    page.goto(f"{hub.url}/hub/spawn/{name}")
    offer = page.locator(".gpu-commons-offer").filter(has_text="Small slice")
    offer.get_by_role("radio").check()
    words = offer.inner_text()
    if waits:
        page.get_by_label("If it must wait").select_option("start")
    picture(page, f"called-in-form-{name}")
    page.get_by_role("button", name="Start").click()
    return words


def write_without_saving(lab: LabPage, text: str) -> None:
    """Open a new text file and type, as somebody does who saves later."""
    lab.page.evaluate(
        "(async () => { const { commands } = window.jupyterapp;"
        " const file = await commands.execute('docmanager:new-untitled',"
        " {path: '', type: 'file', ext: '.txt'});"
        " await commands.execute('docmanager:open', {path: file.path}); })()"
    )
    editor = lab.page.locator(".jp-FileEditor .cm-content")
    editor.click()
    lab.page.keyboard.type(text)
    expect(editor).to_contain_text(text)


def put_program(home: Path, out: Path) -> None:
    """Leave the person's own program in their home."""
    file = home / ".gpu-commons/before-stop"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'#!/bin/sh\necho "$GPU_COMMONS_STOP_CAUSE" > "{out}"\n')
    file.chmod(stat.S_IRWXU)


def test_browser_borrow_notice_stop_and_queue_again(
    hub: RealHub, browsers: tuple[BrowserContext, BrowserContext], tmp_path: Path
) -> None:
    ada, cleo = browsers[0].new_page(), browsers[1].new_page()
    log_in(ada, hub, "ada")
    log_in(cleo, hub, "cleo")
    lab, borrowed = borrows(ada, hub)
    out = tmp_path / "program-ran"
    for home in {tmp_path / "hub/home", *(tmp_path / "hub/state/home").glob("ada/*")}:
        put_program(home, out)
    write_without_saving(lab, "not saved yet")

    wants_her_own(cleo, hub)
    hears_of_it(lab)
    hub.wait(lambda: saved(tmp_path, "not saved yet"), "her document to be saved")
    hub.wait(out.exists, "her own program to be run", seconds=90)
    assert out.read_text().strip() == "preempted"
    hub.wait(lambda: "ada/" not in hub.leases(), "her server to be stopped", seconds=120)
    (ended,) = [one for one in hub.events("lease.closed") if one[1] == borrowed.id]
    assert ended[2]["lease"]["cause"] == Cause.preempted

    # cleo's server starts by itself on the very device.
    hub.wait(lambda: hub.ready("cleo"), "cleo's server to start by itself", seconds=90)
    came = hub.leases()["cleo/"]
    assert came.standing is Standing.guaranteed
    assert came.devices == borrowed.devices

    queues_again(ada)
    waits = hub.leases()["ada/"]
    assert (waits.state, waits.requested_at) == (LeaseState.queued, borrowed.requested_at)
    assert hub.leases()["cleo/"].called_in is None

    # She does not stop cleo; when cleo is done, her server starts by itself.
    hub.stop("cleo")
    hub.wait(lambda: hub.ready("ada"), "ada's server to start by itself", seconds=90)
    assert hub.leases()["ada/"].standing is Standing.borrowed
    assert lab.own_faults == []


def borrows(page: Page, hub: RealHub) -> tuple[LabPage, OpenLease]:
    """Start on what is another team's; the form and the panel say what that means."""
    words = start_from_form(page, hub, "ada", waits=False)
    assert "Borrowed: safe until" in words
    assert "then it may be called in with 45s notice" in words
    page.wait_for_url("**/user/ada/**", timeout=PATIENT_MS)
    lab = LabPage(page, f"{hub.url}/user/ada", token="")
    lease = hub.leases()["ada/"]
    assert lease.standing is Standing.borrowed
    lab.open()
    expect(lab.panel).to_contain_text("Borrowed")
    expect(lab.panel).to_contain_text("called in")
    return lab, lease


def wants_her_own(page: Page, hub: RealHub) -> None:
    """Ask for the device that is guaranteed, and wait for it."""
    start_from_form(page, hub, "cleo", waits=True)
    expect(page.get_by_text("waits as number 1")).to_be_visible(timeout=PATIENT_MS)
    page.goto(f"{hub.url}/services/gpu-commons/queue")
    main = page.get_by_role("main")
    expect(main).to_contain_text("Number 1 for pool slices")
    expect(main).to_contain_text("Within the team's guarantee")
    page.get_by_text("Who comes before, and who could be called in").click()
    expect(main).to_contain_text("another team, 1g.18gb")
    assert "ada" not in main.inner_text()
    assert serious_faults(page) == []
    picture(page, "called-in-queue-owner")
    with phone(page):
        assert overflow(page) <= 0


def hears_of_it(lab: LabPage) -> None:
    """The stop is announced with a reason and a countdown, and not for whom."""
    expect(lab.notice).to_contain_text("Stops in", timeout=PATIENT_MS)
    expect(lab.notice).to_contain_text("another team's guarantee")
    expect(lab.notice).not_to_contain_text("language")
    expect(lab.toast).to_have_count(1)
    expect(lab.status).to_contain_text("Stops in")
    assert lab.serious_faults() == []
    lab.picture("called-in-notice")


def queues_again(page: Page) -> None:
    """From the page of the server that is gone to the reason, and from there into the queue."""
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("queue again in your old place", timeout=PATIENT_MS)
    picture(page, "called-in-stopped", whole=False)
    dialog.get_by_role("button", name="Why?").click()
    page.wait_for_url("**/services/gpu-commons/why/ada/-")
    expect(page.get_by_role("main")).to_contain_text("another team needed its guarantee")
    assert serious_faults(page) == []
    picture(page, "called-in-why")
    with phone(page):
        assert overflow(page) <= 0
    page.get_by_role("button", name="Queue again in the old place").click()
    page.wait_for_url("**/services/gpu-commons/queue")
    expect(page.get_by_role("main")).to_contain_text("Number 1 for pool slices")
    assert serious_faults(page) == []
    picture(page, "called-in-queue-again")


def saved(folder: Path, text: str) -> bool:
    """Whether a text file of the server holds what was typed."""
    homes = (folder / "hub").rglob("untitled*.txt")
    return any(text in file.read_text() for file in homes)

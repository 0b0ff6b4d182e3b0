"""The form tells how much GPU memory a model takes, and which profiles are too small for it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page as Tab

from hub_ext.advice import estimate, uses
from hub_ext.lease import OfferSheet
from hub_ext.service.pages.overview import STATIC
from spawner.form import render
from tests.spawner.test_form import page
from tests.support.chromium import launched
from tests.support.governor import FakeGovernor, offer

MIB, GIB = 2**20, 2**30
SPAWN = "http://hub.test/spawn"
QUEUE = "/services/gpu-commons/queue"


def sheet() -> OfferSheet:
    offers = [
        offer("small", gpu_memory_bytes=18 * GIB),
        offer("large", gpu_memory_bytes=141 * GIB),
        offer("cpu"),
    ]
    return FakeGovernor(offers=offers).sheet("ada").model_copy(update={"memory_uses": uses()})


def shown(offered: OfferSheet | None, queue: str = QUEUE) -> str:
    return render(page(sheet=offered, queue_page=queue))


def test_it_is_offered_where_there_is_a_gpu_whose_memory_is_known() -> None:
    assert "How much GPU memory does a model take?" in shown(sheet())
    assert f'src="{QUEUE.removesuffix("queue")}static/memory.js"' in shown(sheet())
    for without in (
        shown(None),
        shown(sheet(), ""),
        shown(sheet().model_copy(update={"memory_uses": ()})),
        shown(FakeGovernor(offers=[offer("cpu")]).sheet("ada")),
    ):
        assert "memory.js" not in without
        assert "data-memory" not in without


def test_nothing_of_it_is_sent_with_the_form() -> None:
    start = (html := shown(sheet())).index('id="gpu-commons-memory"')
    block = html[start : html.index("</details>", start)]
    assert " name=" not in block
    assert "<script>" not in html
    assert "onclick" not in html


@contextmanager
def opened(html: str) -> Iterator[Tab]:
    """Show the form as the hub does, with the script as the service serves it."""
    with launched() as browser:
        tab = browser.new_page(locale="en-US")

        def serve(route: object) -> None:
            script = Path(STATIC / "memory.js").read_text("utf-8")
            route.fulfill(body=script, content_type="text/javascript; charset=utf-8")  # type: ignore[attr-defined]

        tab.route("**/static/memory.js", serve)
        body = (
            f'<!doctype html><html lang="en"><head><title>Start</title></head><body><main><h1>Start'
            f"</h1><form>{html}<button>Start</button></form></main></body></html>"
        )
        kind = "text/html; charset=utf-8"
        tab.route(SPAWN, lambda route: route.fulfill(body=body, content_type=kind))
        tab.goto(SPAWN)
        yield tab


def test_by_keyboard_alone_it_says_which_profiles_are_too_small_and_takes_none_away() -> None:
    with opened(shown(sheet())) as tab:
        fits = tab.locator(".gpu-commons-fit")
        assert [one.inner_text() for one in fits.all()] == ["", ""]
        tab.locator("#gpu-commons-memory summary").focus()
        tab.keyboard.press("Enter")
        tab.keyboard.press("Tab")
        tab.keyboard.type("7")
        says = tab.locator("#gpu-commons-memory-says")
        assert "weights 13 GiB" in says.inner_text()
        assert "gradients 0 GiB" in says.inner_text()
        small, large = (one.inner_text() for one in fits.all())
        assert small.startswith(("✓ Enough for this model: 18 GiB", "△ Tight"))
        assert large.startswith("✓ Enough for this model: 141 GiB")
        tab.keyboard.press("Tab")
        tab.keyboard.type("train all of it, mixed precision, Adam")
        small, large = (one.inner_text() for one in fits.all())
        assert small.startswith("✗ Too small for this model: 18 GiB of GPU memory")
        assert "You can choose it all the same." in small
        assert large.startswith(("△ Tight", "✗ Too small"))
        # It forces nothing.
        tab.get_by_label("Profile small").check()
        assert tab.locator("input[type=radio][disabled]").count() == 0
        for typed in ("", "-3", "0"):
            tab.locator("#gpu-commons-parameters").fill(typed)
            assert says.inner_text() == ""
            assert [one.inner_text() for one in fits.all()] == ["", ""]
        found = Axe().run(tab)
        assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("billions", ["0.124", "7", "8.03", "65.2", "405"])
def test_the_script_sums_up_as_the_governor_does(billions: str) -> None:
    with opened(shown(sheet())) as tab:
        # Figures in words are rounded; a profile of just that size tells the sum.
        tab.evaluate("document.getElementById('gpu-commons-memory').open = true")
        tab.locator("#gpu-commons-parameters").fill(billions)
        parameters = round(float(billions) * 10**9)
        line = tab.locator(".gpu-commons-fit").first
        for use in uses():
            least, most = estimate(parameters, use).total
            for memory, starts in (
                (least - MIB, "✗"),
                (least + MIB, "△"),
                (most - MIB, "△"),
                (most + MIB, "✓"),
            ):
                line.evaluate("(line, memory) => { line.dataset.memory = memory; }", str(memory))
                tab.locator("#gpu-commons-use").select_option("run-32")
                tab.locator("#gpu-commons-use").select_option(use.name)
                if use.name == "run-32":
                    tab.locator("#gpu-commons-parameters").fill(billions)
                assert line.inner_text().startswith(starts), json.dumps([use.name, memory])

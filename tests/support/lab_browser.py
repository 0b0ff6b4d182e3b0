"""Debian's Chromium on a real JupyterLab: opening it, reading our parts, judging them with axe."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Locator, Page, expect, sync_playwright

from tests.support.chromium import FLAGS, PROGRAM
from tests.support.lab_identity import OWNER_TOKEN

SCREENSHOTS = Path(__file__).parents[1] / "e2e/screenshots"
OUR_SCRIPTS = "/extensions/jupyterhub-gpu-commons/"
OURS = (".jp-GpuCommons-side", ".jp-GpuCommons-statusItem")
WAIT_MS = 30_000


@contextmanager
def chromium(profile: Path) -> Iterator[BrowserContext]:
    """A fresh browser that ends with the block."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=PROGRAM,
            headless=True,
            args=FLAGS,
            viewport={"width": 1280, "height": 900},
            locale="en-GB",
        )
        context.set_default_timeout(WAIT_MS)
        expect.set_options(timeout=WAIT_MS)
        try:
            yield context
        finally:
            context.close()


class LabPage:
    """One tab with JupyterLab or Notebook, and our parts of it by name.

    Attributes
    ----------
    faults
        What was thrown and caught by nobody so far, each with the places it passed.
    """

    def __init__(
        self, page: Page, base: str, path: str = "lab", *, token: str = OWNER_TOKEN
    ) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(error.stack or str(error)))
        query = f"token={token}&reset" if token else "reset"
        page.goto(f"{base}/{path}?{query}", wait_until="domcontentloaded")
        self.page.wait_for_function("window.jupyterapp !== undefined")
        self.page.evaluate("window.jupyterapp.restored.then(() => null)")
        self.page.wait_for_function("document.body.dataset.jpThemeName !== undefined")
        self._uncovered()

    @property
    def own_faults(self) -> list[str]:
        """Those faults that passed through a script of ours; JupyterLab has some of its own."""
        return [fault for fault in self.faults if OUR_SCRIPTS in fault]

    @property
    def status(self) -> Locator:
        """The status item's button."""
        return self.page.locator("button.jp-GpuCommons-status")

    @property
    def panel(self) -> Locator:
        """The side panel."""
        return self.page.get_by_role("region", name="GPU lease")

    @property
    def notice(self) -> Locator:
        """The announced stop in the panel."""
        return self.panel.get_by_role("region", name="Announced stop")

    @property
    def toast(self) -> Locator:
        """The pop-up about an announced stop."""
        return self.page.locator(".Toastify__toast").filter(has_text="This server stops at")

    def hide(self, *, hidden: bool) -> None:
        """Behave as in a tab that nobody looks at, or looks at again."""
        self.page.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden',"
            " {value: hidden, configurable: true});"
            " document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    def run(self, command: str, **args: Any) -> None:
        """Run a command of the application without waiting for its end."""
        self.page.evaluate(
            "([id, args]) => { void window.jupyterapp.commands.execute(id, args); }",
            [command, args],
        )

    def open(self) -> None:
        """Open the panel from the status item."""
        if not self.panel.is_visible():
            self.status.click()
        expect(self.panel.locator("h2")).to_be_visible()

    def theme(self, name: str) -> None:
        """Change JupyterLab's theme and wait until it is there."""
        self.page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})"
            ".then(() => null)",
            name,
        )
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        # The style sheet comes after the name; without its variables nothing can be judged.
        self.page.wait_for_function(
            "getComputedStyle(document.body).getPropertyValue('--jp-layout-color1') !== ''"
        )
        self._uncovered()

    def _uncovered(self) -> None:
        """Wait until the splash screen is gone, under which nobody could click.

        JupyterLab 4.6.6 takes it away 200 ms after a theme is there; if another theme comes
        within that time, it does so twice and throws (`@jupyterlab/apputils-extension:splash`).
        """
        self.page.wait_for_function("document.getElementById('jupyterlab-splash') === null")

    def picture(self, name: str) -> None:
        """Leave a screenshot for people to judge."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"lab-{name}.png")

    def serious_faults(self) -> list[str]:
        """What axe finds serious or critical inside our parts, and text in its ground's colour."""
        # JupyterLab's body clips and has no height, so axe takes all in it for hidden.
        self.page.add_style_tag(content="html, body { height: 100vh }")
        present = [[part] for part in OURS if self.page.locator(part).count()]
        found = Axe().run(self.page, context={"include": present}, options={})
        serious = [
            fault
            for fault in found.response["violations"]
            if fault["impact"] in {"serious", "critical"}
        ]
        # axe leaves a contrast of 1 to people, as it may be meant; with us it never is.
        unseen = [
            {**doubt, "nodes": nodes}
            for doubt in found.response["incomplete"]
            if (nodes := [node for node in doubt["nodes"] if "equalRatio" in str(node)])
        ]
        return [
            f"{fault['id']}: {[node['html'][:160] for node in fault['nodes']]}"
            for fault in serious + unseen
        ]

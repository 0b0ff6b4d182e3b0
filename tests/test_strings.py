"""Every word for people can be gathered for translators, from code and from templates."""

import subprocess
import sys
from pathlib import Path

from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[1]


def test_words_of_code_and_templates_are_gathered(tmp_path: Path) -> None:
    catalogue = tmp_path / "gpu_commons.pot"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "babel.messages.frontend",
            "extract",
            "-F",
            "babel.cfg",
            "-o",
            catalogue,
            "hub_ext",
            "spawner",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with catalogue.open("rb") as file:
        found = {
            place.split("/")[0] + Path(place).suffix
            for message in read_po(file)
            for place, _line in message.locations
        }
    assert {"hub_ext.py", "hub_ext.html", "spawner.py", "spawner.html"} <= found

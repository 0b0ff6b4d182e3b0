"""The words of the JupyterLab panel: those that its sources say, and each language's list of them.

`python -m tests.support.lab_words` takes out of every list what nobody says any more, and prints
what it lacks. A list has translated words alone: Lab would show an empty one as it is.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2] / "labextension"
DOMAIN = "jupyterhub_gpu_commons"
_TEXT = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`$]*`)"""
_SAID = re.compile(rf"trans\s*\.__\(\s*{_TEXT}")


def said() -> list[str]:
    """Every text that the sources translate, in order."""
    texts = [file.read_text("utf-8") for file in sorted((ROOT / "src").rglob("*.ts*"))]
    return sorted({_read(one) for text in texts for one in _SAID.findall(text)})


def lists() -> dict[str, Path]:
    """Language -> its list, in the form that JupyterLab reads."""
    return {
        path.parents[1].name: path
        for path in sorted((ROOT / "locale").glob(f"*/LC_MESSAGES/{DOMAIN}.json"))
    }


def words(path: Path) -> dict[str, str]:
    """Text -> its translation, of one list."""
    known = json.loads(path.read_text("utf-8"))
    return {text: forms[0] for text, forms in known.items() if text}


def _read(literal: str) -> str:
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def main() -> None:
    """Bring every list up to date."""
    texts = said()
    for language, path in lists().items():
        known = json.loads(path.read_text("utf-8"))
        kept = {"": known[""], **{text: known[text] for text in texts if text in known}}
        path.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", "utf-8")
        for text in texts:
            if text not in known:
                print(f"{language}: {text}")


if __name__ == "__main__":
    main()

"""An image as people write it: `registry.example/team/image:tag`, and its parts.

No registry is guessed: a name without one means another image on each machine.
"""

import re

from ..errors import GpuCommonsError
from ..i18n import _
from ..lease import Value

_HOST = re.compile(r"^(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9a-f:]+\])(?::[0-9]{1,5})?$")
_REPOSITORY = re.compile(
    r"^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$"
)
_TAG = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$")
MOST_NAME = 255


class Reference(Value):
    """One image by its tag, at one registry."""

    registry: str
    repository: str
    tag: str

    @property
    def image(self) -> str:
        """The name as the policy keeps it: without the tag."""
        return f"{self.registry}/{self.repository}"


def reference(text: str, tag: str | None = None) -> Reference:
    """Read an image as people write it.

    Parameters
    ----------
    tag
        The tag, where the text is an image's name alone.

    Raises
    ------
    GpuCommonsError
        When a part is missing or cannot be one, with what to write instead.
    """
    name, given = (text, tag) if tag is not None else _split(text)
    registry, _slash, repository = name.partition("/")
    if "." not in registry and ":" not in registry and registry != "localhost":
        raise GpuCommonsError(
            _(
                "{text} names no registry; write it whole, for example "
                "registry.example/team/image:2026.11"
            ).format(text=repr(text[:120]))
        )
    if "@" in text:
        raise GpuCommonsError(
            _("{text} has a digest already; name a tag, and its digest is looked up").format(
                text=repr(text[:120])
            )
        )
    fits = (
        len(name) <= MOST_NAME and _HOST.fullmatch(registry) and _REPOSITORY.fullmatch(repository)
    )
    if not fits or not _TAG.fullmatch(given):
        raise GpuCommonsError(
            _("{text} is no image; write for example registry.example/team/image:2026.11").format(
                text=repr(text[:120])
            )
        )
    return Reference(registry=registry, repository=repository, tag=given)


def _split(text: str) -> tuple[str, str]:
    """Part name and tag; a colon before the last slash belongs to the registry's port."""
    name, colon, tag = text.rpartition(":")
    if not colon or "/" in tag:
        raise GpuCommonsError(
            _("{text} has no tag; name the one to pin, for example {text}:2026.11").format(
                text=text[:120]
            )
        )
    return name, tag

"""What the policy says about images: what was found in one, and where images may come from."""

import re
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from ..words import Part, Word

MOST_PATTERN = 300


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as fault:
        raise ValueError(f"this is no regular expression: {fault}") from None
    return text


Pattern = Annotated[
    str, StringConstraints(min_length=1, max_length=MOST_PATTERN), AfterValidator(_pattern)
]
Release = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6}){0,3}$")]
"""A version made of numbers, in quotes: "12.4", "550.54.15"."""


class Contents(Part):
    """What an image says it holds, as `gpu-commons image pin` found it in its configuration."""

    python: Word | None = None
    """Release of Python; absent means that the image does not say."""
    framework: Word | None = None
    """Name and release of its framework, for example "pytorch 2.9.1"."""
    cuda: Release | None = None
    """Release of CUDA. A pool whose `driver` is too old for it is refused by the check."""


class ImageRules(Part):
    """Where images may come from."""

    allowed: tuple[Pattern, ...] = ()
    """Regular expressions, one of which an image's whole name (registry and repository, without
    tag and digest) must match from its first to its last character, for example
    `registry\\.example/(team-a|team-b)/.*`. Empty means that any registry may be named."""

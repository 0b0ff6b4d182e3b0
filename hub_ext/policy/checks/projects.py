"""Projects: whose they are, and whether their environments are pinned."""

import re
from collections.abc import Iterator

from ...i18n import _
from ..model import EnvironmentPin, Policy
from ..problems import Path, Problem, error, nearest, quoted, warning

STATE = "GPU_COMMONS_STATE"
"""The one variable that a prefix may hold."""

UNPINNED = "sha256:" + "0" * 64
"""Stands in a policy that is still to be filled in, as the demo's is on each machine."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z0-9_]*)\}?")


def check_projects(policy: Policy) -> Iterator[Problem]:
    """Check every project by itself. Whether a prefix drifted is not known here."""
    for name, project in policy.projects.items():
        path: Path = ("projects", name)
        if project.team not in policy.teams:
            yield error(
                (*path, "team"),
                _("there is no team {team}").format(team=quoted(project.team)),
                nearest(project.team, list(policy.teams)),
            )
        if not project.environments:
            yield warning(
                path,
                _("no environment is pinned, so servers get the hub's own, which may change"),
                _("add `environments` with what `gpu-commons env digest PREFIX` prints"),
            )
        for label, pin in project.environments.items():
            yield from _pin((*path, "environments", label), pin)


def _pin(path: Path, pin: EnvironmentPin) -> Iterator[Problem]:
    if pin.image is not None:
        yield from _image((*path, "image"), pin.image)
    if pin.prefix is not None:
        yield from _prefix((*path, "prefix"), pin.prefix)
    if pin.digest == UNPINNED:
        yield warning(
            (*path, "digest"),
            _("a digest of zeros pins nothing yet, so no server gets this environment"),
            _("write what `gpu-commons env digest PREFIX` prints"),
        )


def _image(path: Path, image: str) -> Iterator[Problem]:
    _repository, _slash, last = image.rpartition("/")
    if not last or image != image.strip():
        yield error(path, _("this is no image"), _("write for example registry.example/team/image"))
    elif "@" in last:
        yield error(path, _("the image repeats a digest"), _("write it in `digest` alone"))
    elif ":" in last:
        yield error(
            path,
            _("the tag {tag} floats: what it names can change").format(
                tag=quoted(last.partition(":")[2])
            ),
            _("take it away; `digest` says which image is meant"),
        )


def _prefix(path: Path, prefix: str) -> Iterator[Problem]:
    if not prefix.strip() or "\0" in prefix:
        yield error(path, _("this is no directory"), _("write the path that holds bin/python"))
    for match in _VARIABLE.finditer(prefix):
        if match[0] != f"${{{STATE}}}":
            yield error(
                path,
                _("{variable} is not replaced here").format(variable=quoted(match[0])),
                _("write the path out; only ${{{name}}} is known").format(name=STATE),
            )

"""Images: where they may come from, whether drivers are new enough, whom a tier serves."""

import re
from collections.abc import Iterator

from ...i18n import _
from ..cuda import least_driver, too_old, version_text
from ..model import EnvironmentPin, Policy
from ..problems import Path, Problem, error, listed, nearest, quoted, warning


def check_images(policy: Policy) -> Iterator[Problem]:
    """Check pins of images against the rules for images, pools and task types."""
    for name, project in policy.projects.items():
        for label, pin in project.environments.items():
            path: Path = ("projects", name, "environments", label)
            yield from _said_of_prefix(path, pin)
            yield from _allowed(policy, path, pin)
            yield from _driver(policy, path, pin, project.team)
    yield from _tiers(policy)


def is_allowed(policy: Policy, image: str) -> bool:
    """Whether an image's name, without tag and digest, may be used."""
    patterns = policy.images.allowed
    return not patterns or any(re.fullmatch(one, image) for one in patterns)


def _said_of_prefix(path: Path, pin: EnvironmentPin) -> Iterator[Problem]:
    if pin.image is not None:
        return
    for field in ("tag", "contents"):
        if getattr(pin, field) is not None:
            yield error(
                (*path, field),
                _("only an image has this, and here is a prefix"),
                _("take it away"),
            )


def _allowed(policy: Policy, path: Path, pin: EnvironmentPin) -> Iterator[Problem]:
    if pin.image is None or is_allowed(policy, pin.image):
        return
    yield error(
        (*path, "image"),
        _("{image} matches none of `images.allowed` as a whole").format(image=quoted(pin.image)),
        _("name an image that does, or add a pattern: {known}").format(
            known=listed(policy.images.allowed)
        ),
    )


def _driver(policy: Policy, path: Path, pin: EnvironmentPin, team: str) -> Iterator[Problem]:
    """Compare CUDA of an image with the drivers of the pools that its team may use."""
    cuda = pin.contents.cuda if pin.contents is not None else None
    rules = policy.teams.get(team)
    if cuda is None or rules is None:
        return
    where: Path = (*path, "contents", "cuda")
    least = least_driver(cuda)
    if least is None:
        yield warning(
            where,
            _("which driver CUDA {cuda} needs is not known here").format(cuda=cuda),
            _("compare it with the drivers of the pools by hand"),
        )
        return
    for name in rules.quota:
        pool = policy.pools.get(name)
        if pool is None or pool.driver is None or not too_old(pool.driver, least):
            continue
        yield error(
            where,
            _("CUDA {cuda} needs driver {least}, and the pool {pool} has {driver}").format(
                cuda=cuda, least=version_text(least), pool=quoted(name), driver=pool.driver
            ),
            _("pin an image with an older CUDA, or renew the driver and write it at the pool"),
        )


def _tiers(policy: Policy) -> Iterator[Problem]:
    known = {label for project in policy.projects.values() for label in project.environments}
    for name, task in policy.task_types.items():
        if task.environment is not None and task.environment not in known:
            yield error(
                ("task_types", name, "environment"),
                _("no project has an environment {name}").format(name=quoted(task.environment)),
                nearest(task.environment, sorted(known)),
            )

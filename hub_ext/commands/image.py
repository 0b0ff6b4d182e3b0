"""`gpu-commons image`: pin a project's images by digest, and see, promote or take back a pin.

A pin is a line of the policy, so its history is the policy's own: who, when and why. New starts
get the new image; servers that run keep theirs.
"""

import argparse
import asyncio
import os
from collections.abc import Iterable
from pathlib import Path

from ..errors import GpuCommonsError, PolicyError
from ..i18n import _
from ..images.credentials import Credentials, credentials_in
from ..images.references import Reference, reference
from ..images.registry import Inspected, Registries
from ..ledger.beside import reading
from ..policy.checks.images import is_allowed
from ..policy.editing import put
from ..policy.load import loads
from ..policy.model import EnvironmentPin, Policy
from ..policy.problems import listed, nearest, quoted
from ..service.devices.pinned import Pinned, pins_of
from .columns import print_table
from .onsite import Onsite, add_reason, onsite, reason_of
from .policyfile import named, policy_verb, sum_of, tell_outcome, text_of, written

NOTHING = "-"
MOST = 10_000
"""Generations that are read at most for the history of pins."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verbs."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    pin = _verb(verbs, "pin", _("look up what a tag names now, and pin that"))
    pin.add_argument("environment", metavar="ENVIRONMENT", help=_("dev, training, inference, …"))
    pin.add_argument("image", metavar="IMAGE:TAG", help=_("with its registry"))
    pin.add_argument(
        "--platform", default="linux/amd64", help=_("whose contents are read (default linux/amd64)")
    )
    promote = _verb(verbs, "promote", _("give one environment the image of another"))
    promote.add_argument("giver", metavar="FROM", help=_("the environment that has the image"))
    promote.add_argument("environment", metavar="TO", help=_("the environment that gets it"))
    back = _verb(verbs, "rollback", _("give an environment the image that it had before"))
    back.add_argument("environment", metavar="ENVIRONMENT", help=_("which environment"))
    back.add_argument("--to", metavar="DIGEST", help=_("the image (default: the one before)"))
    for one in (pin, promote, back):
        add_reason(one)
    every = _verb(verbs, "list", _("list the pins with their history, and tags that have moved"))
    every.add_argument("--offline", action="store_true", help=_("ask no registry"))
    for one in (pin, every):
        one.add_argument(
            "--credentials",
            type=Path,
            metavar="FILE",
            default=os.environ.get("GPU_COMMONS_REGISTRY_CREDENTIALS"),
            help=_("names and passwords as `docker login` writes them"),
        )


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, line: str
) -> argparse.ArgumentParser:
    parser = policy_verb(verbs, name, line)
    parser.add_argument("project", metavar="PROJECT", help=_("the project"))
    return parser


def run(args: argparse.Namespace) -> int:
    """Carry out one verb; return 0, or 1 where the file has to be changed by hand or a tag moved.

    Raises
    ------
    GpuCommonsError
        When it is refused, with words and remedy.
    """
    site = onsite(args.state)
    path = named(args.policy or site.policy)
    text = text_of(path)
    policy = loads(text, name=str(path)).policy
    if args.project not in policy.projects:
        raise GpuCommonsError(
            _("the policy has no project {name}; {remedy}").format(
                name=quoted(args.project), remedy=nearest(args.project, list(policy.projects))
            )
        )
    if args.verb == "list":
        return _list(site, policy, args.project, None if args.offline else _credentials(args))
    pin = _wanted(site, policy, args)
    return _change(site, path, text, args, pin)


def _credentials(args: argparse.Namespace) -> Credentials:
    return credentials_in(Path(args.credentials) if args.credentials else None)


# -- changes -------------------------------------------------------------------------------


def _wanted(site: Onsite, policy: Policy, args: argparse.Namespace) -> EnvironmentPin:
    match args.verb:
        case "pin":
            return _looked_up(policy, args)
        case "promote":
            return _pin_of(policy, args.project, args.giver)
        case _:
            return _former(site, policy, args)


def _looked_up(policy: Policy, args: argparse.Namespace) -> EnvironmentPin:
    wanted = reference(args.image)
    if not is_allowed(policy, wanted.image):
        raise GpuCommonsError(
            _("{image} matches none of `images.allowed`: {known}").format(
                image=quoted(wanted.image), known=listed(policy.images.allowed)
            )
        )
    print(_("Asking {registry} for {image}").format(registry=wanted.registry, image=args.image))
    found = asyncio.run(_inspect(_credentials(args), args.platform, wanted))
    return EnvironmentPin(
        image=found.image,
        digest=found.digest,
        tag=found.tag,
        contents=found.contents if found.contents.model_dump(exclude_none=True) else None,
    )


async def _inspect(who: Credentials, platform: str, wanted: Reference) -> Inspected:
    async with Registries(who, platform=platform) as registries:
        return await registries.inspect(wanted)


def _pin_of(policy: Policy, project: str, environment: str) -> EnvironmentPin:
    pins = policy.projects[project].environments
    if environment not in pins:
        raise GpuCommonsError(
            _("the project {project} has no environment {name}; {remedy}").format(
                project=quoted(project),
                name=quoted(environment),
                remedy=nearest(environment, list(pins)),
            )
        )
    return pins[environment]


def _former(site: Onsite, policy: Policy, args: argparse.Namespace) -> EnvironmentPin:
    present = _pin_of(policy, args.project, args.environment)
    former = [
        one.pin
        for one in _pins(site, args.project)
        if one.environment == args.environment and one.pin.digest != present.digest
    ]
    if args.to is not None:
        former = [pin for pin in former if _hex(pin.digest).startswith(_hex(args.to))]
    if not former:
        raise GpuCommonsError(
            _("{name} had no such image before; see `gpu-commons image list {project}`").format(
                name=quoted(args.environment), project=args.project
            )
        )
    return former[0]


def _hex(text: str) -> str:
    return str(text).removeprefix("sha256:").lower()


def _change(
    site: Onsite, path: Path, text: str, args: argparse.Namespace, pin: EnvironmentPin
) -> int:
    """Write the pin into the policy, once the whole policy is right with it."""
    value = pin.model_dump(mode="json", exclude_none=True)
    place = ("projects", args.project, "environments", args.environment)
    changed = put(text, place, value)
    try:
        loads(changed, name=str(path))
    except PolicyError as refused:
        lines = "\n".join(refused.findings)
        raise GpuCommonsError(
            _("this pin would make the policy wrong, so nothing was changed:\n{lines}").format(
                lines=lines
            )
        ) from refused
    print(_pin_words(args.project, args.environment, pin))
    if changed == text:
        print(_("that is what the policy says already"))
        return 0
    what = f"image {args.verb} {args.project} {args.environment}"
    why = f"{what} {pin.digest[7:19]}: {reason_of(args.reason)}"
    with reading(site.state, url=site.ledger_url) as tx:
        newest = tx.generation()
    if not written(site, path, text, changed, why):
        return 1
    tell_outcome(site, sum_of(changed), newest[0] if newest else 0)
    print(_("Servers that run keep their image; the next start gets this one."))
    return 0


# -- what is there -------------------------------------------------------------------------


def _pins(site: Onsite, project: str) -> tuple[Pinned, ...]:
    with reading(site.state, url=site.ledger_url) as tx:
        return pins_of(project, tx.generations(MOST))


def _list(site: Onsite, policy: Policy, project: str, who: Credentials | None) -> int:
    heads = (
        _("environment"),
        _("image"),
        _("tag"),
        _("digest"),
        _("python"),
        _("framework"),
        _("cuda"),
        _("since"),
        _("by"),
        _("why"),
    )
    print_table([heads, *(_row(one) for one in _pins(site, project))])
    if who is None:
        return 0
    pins = policy.projects[project].environments
    moved = asyncio.run(_moved(who, pins.items()))
    print()
    for line in moved:
        print(line)
    if not moved:
        print(_("every tag still names what is pinned"))
    return 1 if moved else 0


async def _moved(who: Credentials, pins: Iterable[tuple[str, EnvironmentPin]]) -> list[str]:
    """Say which tags name another image by now, or cannot be looked up."""
    lines = []
    async with Registries(who) as registries:
        for name, pin in pins:
            if pin.image is None or pin.tag is None:
                continue
            try:
                found = await registries.digest(reference(pin.image, pin.tag))
            except GpuCommonsError as error:
                lines.append(f"{name}: {error}")
                continue
            if found != pin.digest:
                lines.append(
                    _(
                        "{name}: {tag} names {found} by now, pinned is {pinned}; "
                        "`gpu-commons image pin` takes it over"
                    ).format(name=name, tag=pin.tag, found=found[7:19], pinned=pin.digest[7:19])
                )
    return lines


def _row(one: Pinned) -> tuple[str, ...]:
    pin, holds = one.pin, one.pin.contents
    return (
        one.environment + ("" if one.until is None else _(" (before)")),
        pin.image or pin.prefix or NOTHING,
        pin.tag or NOTHING,
        pin.digest[7:19],
        (holds.python if holds else None) or NOTHING,
        (holds.framework if holds else None) or NOTHING,
        (holds.cuda if holds else None) or NOTHING,
        one.since.strftime("%Y-%m-%d %H:%M"),
        one.by,
        one.why or NOTHING,
    )


def _pin_words(project: str, environment: str, pin: EnvironmentPin) -> str:
    found = pin.contents.model_dump(exclude_none=True) if pin.contents else {}
    holds = ", ".join(f"{name} {text}" for name, text in found.items())
    return _("{project}/{environment}: {image}@{digest} ({holds})").format(
        project=project,
        environment=environment,
        image=pin.image or pin.prefix,
        digest=pin.digest,
        holds=holds or _("it does not say what it holds"),
    )

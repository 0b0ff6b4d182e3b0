"""Refuses to load beside a foreign `hub_ext`. Must not import it before it was looked at."""

from importlib.machinery import PathFinder


class ForeignPackageError(ImportError):
    """The name `hub_ext` leads to a package that is not part of GPU Commons."""


def refuse_intruders() -> None:
    """Make sure that the packages we import are ours.

    The check proper is `hub_ext.intruders`; only a `hub_ext` without one must be caught here.

    Raises
    ------
    ForeignPackageError
        Names the file that answers to `hub_ext`.
    hub_ext.errors.IntruderError
        Names every other intruder.
    """
    try:
        from hub_ext.intruders import check  # noqa: PLC0415 - after a foreign one could be there
    except ImportError as error:
        spec = PathFinder.find_spec("hub_ext")
        where = "nothing" if spec is None else spec.origin or spec.submodule_search_locations
        raise ForeignPackageError(
            f"GPU Commons needs its package hub_ext, but {where} answers to that name; "
            "rename or uninstall that package, or start from another directory"
        ) from error
    check("hub_ext", "labextension")

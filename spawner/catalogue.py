"""Profiles without a GPU as last seen, for starts while the governor is away.

Kept by the set of hub groups, on which offers depend, and in a file, so that a machine whose
governor does not come up after a restart still starts servers.
"""

import json
import logging
import os
from pathlib import Path

from pydantic import ValidationError

from hub_ext.lease import Offer, OfferSheet

_LOG = logging.getLogger("gpu-commons.catalogue")
_MOST = 500
"""Sets of groups kept; the one that was not asked for longest goes first."""


class Catalogue:
    """Offers without a GPU by sets of groups.

    Parameters
    ----------
    file
        Where it is kept; None keeps it in memory alone.
    """

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._offers: dict[str, tuple[Offer, ...]] = self._load()

    def keep(self, groups: tuple[str, ...], sheet: OfferSheet) -> None:
        """Remember what a sheet offers without a GPU."""
        offers = tuple(offer for offer in sheet.offers if offer.pool is None)
        key = _key(groups)
        changed = self._offers.pop(key, None) != offers
        self._offers[key] = offers
        while len(self._offers) > _MOST:
            del self._offers[next(iter(self._offers))]
            changed = True
        if changed:
            self._save()

    def recall(self, groups: tuple[str, ...]) -> tuple[Offer, ...]:
        """Offers without a GPU that people of exactly these groups were last shown."""
        return self._offers.get(_key(groups), ())

    def _load(self) -> dict[str, tuple[Offer, ...]]:
        if self._file is None or not self._file.exists():
            return {}
        try:
            content = json.loads(self._file.read_text(encoding="utf-8"))
            return {
                str(key): tuple(Offer.model_validate(offer) for offer in offers)
                for key, offers in content["offers"].items()
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError, ValidationError) as error:
            _LOG.warning(
                "The catalogue in %s cannot be read and starts anew: %s", self._file, error
            )
            return {}

    def _save(self) -> None:
        if self._file is None:
            return
        content = {
            "version": 1,
            "offers": {
                key: [offer.model_dump(mode="json") for offer in offers]
                for key, offers in self._offers.items()
            },
        }
        draft = self._file.with_suffix(f".{os.getpid()}")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.write_text(json.dumps(content), encoding="utf-8")
            draft.replace(self._file)
        except OSError as error:
            _LOG.warning("The catalogue could not be written to %s: %s", self._file, error)


def catalogue_in(state: Path | None) -> Catalogue:
    """Return the process's one catalogue for a state directory."""
    if state not in _CATALOGUES:
        _CATALOGUES[state] = Catalogue(None if state is None else state / "hub" / "catalogue.json")
    return _CATALOGUES[state]


_CATALOGUES: dict[Path | None, Catalogue] = {}


def _key(groups: tuple[str, ...]) -> str:
    return json.dumps(sorted(set(groups)))

"""A refusal is below 500 whatever made it, and its words are where the hub looks for them."""

import pytest
from jupyterhub.utils import format_exception
from tornado import web

from hub_ext.errors import RefusedError
from spawner.refusal import SpawnRefusal


@pytest.mark.parametrize(("given", "shown"), [(400, 400), (409, 409), (503, 409), (200, 409)])
def test_no_status_moves_the_hub_towards_its_exit(given: int, shown: int) -> None:
    refusal = SpawnRefusal(RefusedError("some-code", "Words.", status=given))
    assert isinstance(refusal, web.HTTPError)
    assert refusal.status_code == shown


def test_the_words_are_shown_as_they_stand() -> None:
    words = "2 of 2 devices are held (100%). Try again <later>."
    refusal = SpawnRefusal(RefusedError("would-queue", words, retry_after_s=60))
    assert format_exception(refusal, only_jupyterhub=True) == (words, None)
    assert refusal.headers == {"Retry-After": "60"}
    assert "100%" in str(refusal)

"""Settings come from variables or a file, and rubbish names its variable."""

import pytest
from traitlets.config import Config

from hub_ext.errors import PolicyError
from hub_ext.service.books.config import GovernorConfig


def test_variables_set_what_the_file_leaves_open() -> None:
    config = Config({"GovernorConfig": {"cycle_s": 3.0}})
    variables = {"GPU_COMMONS_CYCLE_S": "0.2", "GPU_COMMONS_HUB": "north"}
    settings = GovernorConfig.from_environment(variables, config).settings()
    assert (settings.cycle_s, settings.hub) == (3.0, "north")


def test_paths_are_absolute_and_have_defaults() -> None:
    settings = GovernorConfig.from_environment({}).settings()
    assert settings.state.is_absolute()
    assert settings.policy.name == "policy.yaml"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("GPU_COMMONS_CYCLE_S", "soon"),
        ("GPU_COMMONS_CYCLE_S", "0"),
        ("GPU_COMMONS_RECONCILE_S", "1e9"),
        ("GPU_COMMONS_DEVICES", "imagined"),
        ("GPU_COMMONS_MOST_WAITERS", "many"),
    ],
)
def test_rubbish_is_named(name: str, text: str) -> None:
    with pytest.raises(PolicyError, match=name.removeprefix("GPU_COMMONS_").lower()):
        GovernorConfig.from_environment({name: text})


def test_every_setting_is_explained_with_its_default() -> None:
    for name, trait in GovernorConfig.class_traits(config=True).items():
        assert trait.help, name
        assert "Default" in trait.help, name

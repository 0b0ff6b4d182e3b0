"""What runs beside a person's notebook: the Lab panel's files and its Jupyter Server extension.

Importing this package is light; the extension itself loads only after a look at the import
names, as `hub_ext` is a generic word that a foreign package may answer to.
"""

from typing import Any

__product__ = "gpu-commons"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tell JupyterLab where the built page code lies."""
    return [{"src": "assets", "dest": "jupyterhub-gpu-commons"}]


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    """Tell Jupyter Server which module to load."""
    return [{"module": __name__}]


def _load_jupyter_server_extension(serverapp: Any) -> None:  # noqa: ANN401 - untyped ServerApp
    """Register handlers and the notice event; raises IntruderError before any foreign import."""
    from .guard import refuse_intruders  # noqa: PLC0415 - nothing of ours before the guard

    refuse_intruders()
    from .handlers import load  # noqa: PLC0415

    load(serverapp)


async def _start_jupyter_server_extension(serverapp: Any) -> None:  # noqa: ANN401
    """Start the one background task, once the event loop runs."""
    from .handlers import start  # noqa: PLC0415

    start(serverapp)

"""Private directories of servers: names of people and servers become safe names of folders."""

import hashlib
import os
import string
from pathlib import Path

_PLAIN = frozenset(string.ascii_letters + string.digits + "-")
_LONGEST = 120
DEFAULT_SERVER = "default"


def folder_name(name: str) -> str:
    """Escape a name so that it is one harmless path component, different for different names.

    Letters, digits and '-' stay; every other byte becomes '_' and two hexadecimal digits, so no
    '.' or '/' is left. What gets too long is cut and ends in a hash of the whole.
    """
    escaped = "".join(
        char if char in _PLAIN else "".join(f"_{byte:02x}" for byte in char.encode())
        for char in name
    )
    if len(escaped) <= _LONGEST:
        return escaped
    # "__" is no escape, so a cut name never equals one that was not cut.
    return f"{escaped[:_LONGEST]}__{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def server_folder(name: str) -> str:
    """Folder of a server: `default` for the one without a name."""
    if not name:
        return DEFAULT_SERVER
    # A named server "default" must not share a folder with the one without a name.
    return f"{DEFAULT_SERVER}_" if name == DEFAULT_SERVER else folder_name(name)


def workspace_path(state: Path, user: str, server: str) -> Path:
    """Where a server's workspace is or will be."""
    return state / "home" / folder_name(user) / server_folder(server)


def make_workspace(state: Path, user: str, server: str) -> Path:
    """Make a server's workspace and everything above it in the state directory, all 0700.

    Raises
    ------
    OSError
        When something else stands there. A person can write beside their own workspace, so a
        link is not followed: its target would be made private in their stead.
    """
    path = workspace_path(state, user, server)
    home = state / "home"
    # An administrator may well keep all homes on another disk, behind a link.
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.chmod(0o700)
    for folder in (path.parent, path):
        folder.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(handle, 0o700)
        finally:
            os.close(handle)
    return path

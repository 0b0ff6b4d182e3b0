"""Reads Python sources as trees."""

import ast
import gc


def parsed(text: str) -> ast.Module:
    """Parse a source.

    Nothing is collected meanwhile: CPython 3.11 counts wrongly where a finalizer runs while a tree
    is built, and then raises SystemError (python/cpython#106905).
    """
    was = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        if was:
            gc.enable()

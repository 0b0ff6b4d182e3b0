"""Builds the programs of a Kubernetes control plane from Go modules, once for each version."""

from .recipe import MODULES, PROGRAMS, SMOKE, Module
from .shop import NotBuiltError, Shop

__all__ = ["MODULES", "PROGRAMS", "SMOKE", "Module", "NotBuiltError", "Shop"]

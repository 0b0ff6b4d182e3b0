"""Pinned software environments: what a prefix holds, and whether it is still what was agreed."""

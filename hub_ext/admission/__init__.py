"""Whether a request starts, waits or is refused: pure rules over a frozen snapshot.

Nothing here reads a clock, a file or the environment, and nothing acts.
"""

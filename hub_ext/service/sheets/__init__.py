"""What each page shows: gathered in the core's thread, then put into words for its template.

A sheet decides nothing and checks no right; `pages` has done that before it asks.
"""

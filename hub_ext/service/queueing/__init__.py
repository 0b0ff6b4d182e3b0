"""Requests that wait: their turn, their forecasts, and calls for capacity that was lent."""

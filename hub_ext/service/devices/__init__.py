"""Devices in and out of service, kept for projects, drained and looked after."""

"""Tests of `hub_ext.anomaly`."""

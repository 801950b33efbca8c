"""Commissioning of a machine before any run.

Preflight checks, calibration and latency measurement.
"""

"""Commissioning of a machine: preflight checks, calibration and latency measurement, before any run."""

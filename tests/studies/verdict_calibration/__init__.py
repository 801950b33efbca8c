"""Calibration of the verdict: how often true campaigns are rejected, over bicycles, noises, controllers and plants."""

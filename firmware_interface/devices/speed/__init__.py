"""Drivers of what keeps the speed.

A treadmill's belt, or a motor on the rear wheel.
"""

"""Designs for a drive of rate or angle.

The steer drive is commanded a steer rate or angle in place of a torque.
"""

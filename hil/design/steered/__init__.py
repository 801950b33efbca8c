"""Designs for a steer drive that is commanded a steer rate or angle in place of a torque."""

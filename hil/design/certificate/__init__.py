"""Certificates of stability for a bicycle whose speed changes."""

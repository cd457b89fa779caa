"""Devices: their names, and logical ones."""

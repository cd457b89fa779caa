"""Strategies, their variables, and how they run functions."""

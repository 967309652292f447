"""Runs the scenarios of ../*.json on any surface that Python can call."""

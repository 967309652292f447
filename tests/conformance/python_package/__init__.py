"""The Python package as the scenarios see it."""

"""noclobber: finds lost updates in Python code."""

__version__ = "0.1.0"

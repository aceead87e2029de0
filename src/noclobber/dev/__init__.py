"""Contributor commands: `python -m noclobber.dev`."""

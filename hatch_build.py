"""Build hook: puts the compiled form of rules/ into the wheel, so that a start does not parse TOML."""
from __future__ import annotations

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface):
    """Skipped for an editable install, which reads the checkout's rules/ and compiles them to the cache folder."""

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name != "wheel" or version == "editable":
            return

"""Build hook: puts the compiled form of rules/ into the wheel, so that a start does not parse TOML.

An editable install has none: it reads the checkout's rules/ and keeps what it compiled in the cache folder.
"""
from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompileRules(BuildHookInterface):
    """Adds noclobber/_rules.py to a wheel. A mistake in rules/ fails the build (KnowledgeError names file and line)."""

    folder: str | None = None

    def initialize(self, version: str, build_data: dict) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "src"))
        try:
            from noclobber.knowledge import module_source

            text = module_source(str(root / "rules"))
        finally:
            sys.path.remove(str(root / "src"))
        self.folder = tempfile.mkdtemp(prefix="noclobber-build-")
        made = Path(self.folder, "_rules.py")
        made.write_text(text, encoding="utf-8")
        build_data["force_include"][str(made)] = "noclobber/_rules.py"

    def finalize(self, version: str, build_data: dict, artifact_path: str) -> None:
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

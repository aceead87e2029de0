"""Baseline files on the command line: which are in force, and what `verdict` needs of them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from noclobber.cli.common import Failed


def file_of(config: Any, cwd: str) -> str:
    """The absolute path of the baseline in force for a config, or "". One of the command line is relative to the working
    directory, one of a settings file to that file."""
    name = config.settings.baseline
    if not name:
        return ""
    return os.path.abspath(os.path.join(cwd if config.origins.get("baseline") == "--baseline" else config.root, name))


def path_in(shown: str, file: str, cwd: str) -> str:
    """A shown path relative to the folder of the baseline file, with `/`."""
    absolute = os.path.normpath(os.path.join(cwd, shown))
    return os.path.relpath(absolute, os.path.dirname(file)).replace(os.sep, "/")


def baselines(configs: Iterable[Any], cwd: str, *, missing_ok: bool = False, empty: bool = False) -> Any:
    """verdict.Baselines for a run over these configs. `empty`: know the files, but subtract nothing. Raises Failed."""
    from noclobber import baseline, knowledge, verdict
    from noclobber.files import display

    group = baseline.groups(knowledge.load().pages)
    known = {}
    for config in configs:
        file = file_of(config, cwd)
        if not file or file in known or empty:
            continue
        try:
            known[file] = baseline.Known(baseline.read(file, display(file, cwd)), group)
        except FileNotFoundError:
            if not missing_ok:
                raise Failed(f"{display(file, cwd)}: no such baseline; `noclobber baseline create` writes one") from None
        except baseline.BaselineError as error:
            raise Failed(str(error)) from None
    return verdict.Baselines(lambda config: file_of(config, cwd), known, lambda shown, file: path_in(shown, file, cwd))

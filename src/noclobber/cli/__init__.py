"""The command line. Commands that analyse nothing import nothing that analyses.

Exit codes (UX §8.3): 0 complete, nothing at or above `fail-on` · 1 findings · 2 the run cannot be trusted · 130
interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from noclobber import __version__
from noclobber.cli.common import BROKEN, COMMANDS, INTERRUPTED, OK, PIPE, Failed, nearest

SHORT_HELP = f"""\
noclobber {__version__}: finds code that reads shared state, changes it and writes it back without checking that
nobody else did

{chr(10).join(f"  noclobber {name:<10} {text}" for name, text in COMMANDS.items())}

Try: noclobber check        (the current folder; every command knows --help)"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code, never raises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows no `·` must not end the run
    try:
        try:
            code = _dispatch(arguments)
        except Failed as error:
            print(f"noclobber: {error}", file=sys.stderr)
            code = BROKEN
        except SystemExit as leave:  # argparse's --help
            code = leave.code if isinstance(leave.code, int) else OK
        except (KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception:  # Python would exit with 1, which means findings
            import traceback

            traceback.print_exc()
            print("noclobber: internal error (please report it)", file=sys.stderr)
            code = BROKEN
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("noclobber: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone. Python would complain once more when it flushes at exit.
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except (OSError, ValueError, AttributeError):
            pass
        return PIPE


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(SHORT_HELP)
        return OK
    word, rest = arguments[0], arguments[1:]
    if word in ("--version", "-V"):
        return _command("version")([])
    if word not in COMMANDS:
        if word.startswith("-"):
            raise Failed(f"the command comes first: noclobber check {' '.join(arguments)}")
        if os.path.exists(word):
            raise Failed(f"`{word}` is no command; did you mean `noclobber check {word}`?")
        raise Failed(f"unknown command `{word}`{nearest(word, list(COMMANDS))}")
    try:
        return _command(word)(rest)
    except Exception as error:
        message = _expected(error)
        if message is None:
            raise
        raise Failed(message) from None


def _command(word: str) -> Callable[[list[str]], int]:
    """The function behind a command; each lives in a module of its own, which is loaded for it alone."""
    from importlib import import_module

    module = import_module(f"noclobber.cli.{'rule' if word == 'rules' else word}")
    return module.run_rules if word == "rules" else module.run


def _expected(error: Exception) -> str | None:
    """The message of an error in settings or vocabulary; None for any other. Both modules are loaded when they raised
    it."""
    for module, name in (("noclobber.config", "ConfigError"), ("noclobber.knowledge", "KnowledgeError")):
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return str(error)
    return None

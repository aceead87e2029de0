"""`noclobber completion bash|zsh|fish`: made from the same parsers that read the options."""

from __future__ import annotations

import argparse
from importlib import import_module

from noclobber.cli.common import COMMANDS, OK, Failed, Parser, nearest

SHELLS = ("bash", "zsh", "fish")


def parser() -> Parser:
    cli = Parser("completion")
    cli.add_argument("shell", nargs="?", default="", metavar="|".join(SHELLS))
    return cli


def run(arguments: list[str]) -> int:
    options = parser().parse(arguments)
    if options.shell not in SHELLS:
        raise Failed(f"which shell? {', '.join(SHELLS)}{nearest(options.shell, SHELLS) if options.shell else ''}")
    print({"bash": _bash, "zsh": _zsh, "fish": _fish}[options.shell]())
    return OK


def parser_of(command: str) -> Parser:
    """The parser of a command."""
    if command == "rules":
        return import_module("noclobber.cli.rule").parser_of_rules()
    return import_module(f"noclobber.cli.{command}").parser()


def _options(command: str) -> list[tuple[str, list[str], str]]:
    """(option, its words, help) of each long option."""
    rows = []
    for action in parser_of(command)._actions:
        if action.help == argparse.SUPPRESS:
            continue
        words = [str(word) for word in action.choices or ()]
        if not words and isinstance(action.metavar, str) and "|" in action.metavar:
            words = action.metavar.split("|")
        rows += [(name, words, action.help or "") for name in action.option_strings if name.startswith("--")]
    return rows


def _words(command: str) -> list[str]:
    """What a command's first argument may be."""
    return {"baseline": ["create", "check", "prune"], "stores": ["list", "check", "explain"], "completion": list(SHELLS)}.get(command, [])


def _bash() -> str:
    cases, values = [], []
    for command in COMMANDS:
        rows = _options(command)
        cases.append(f'    {command}) words="{" ".join([*_words(command), *(name for name, _, _ in rows)])}" ;;')
        values += [f'    {command}:{name}) words="{" ".join(words)}" ;;' for name, words, _ in rows if words]
    return f"""\
_noclobber() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" command="${{COMP_WORDS[1]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$word")); return; fi
  case "$command:$before" in
{chr(10).join(values)}
    *) ;;
  esac
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); return; fi
  case "$command" in
{chr(10).join(cases)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _noclobber noclobber"""


def _zsh() -> str:
    return "autoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    out = []
    for command, text in COMMANDS.items():
        out.append(f"complete -c noclobber -n __fish_use_subcommand -f -a {command} -d {_quoted(text)}")
        seen = f'-n "__fish_seen_subcommand_from {command}"'
        out += [f"complete -c noclobber {seen} -f -a {word}" for word in _words(command)]
        for name, words, help in _options(command):
            given = f" -x -a {_quoted(' '.join(words))}" if words else ""
            out.append(f"complete -c noclobber {seen} -l {name[2:]}{given} -d {_quoted(help)}")
    return "\n".join(out)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

#!/usr/bin/env python3
"""How fast noclobber is, beside `ast.parse` over the same files. CPU seconds, not wall time: they mean the same on a busy machine.

usage: speed.py [--repeat N] [--json FILE] [PATH ...]

Prints, for the files below PATH that `noclobber check` reads (tests, migrations and vendored code are left out):
  - CPU of `noclobber check --no-cache -j1`, of reading and `ast.parse`, and the ratio;
  - the share of lines that are roots, and that became LibCST trees (helpers that a root asked for included);
  - where the CPU goes, as far as the engine tells (stats `cpu_*`).
Always prints the cost of imports and of a hook's run over ten files without a root.
Needs noclobber in the running Python, and POSIX (`os.wait4`). Exit status 1 when a run fails.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORTS = ("ast", "noclobber.cli", "noclobber.flake8", "noclobber.engine", "rich.console", "sqlglot", "libcst", "libcst.metadata")

#: Prints the engine's own numbers and the files that it read. In a process of its own, for the parent imports nothing of noclobber.
PROBE = """
import json, sys
from noclobber import engine
from noclobber.config import Resolver
result = engine.run(sys.argv[1:], Resolver(), jobs=1)
stats, files = {}, []
for item in result.items:
    files.append(item.result.path)
    for key, value in item.result.stats.items():
        stats[key] = stats.get(key, 0) + value
json.dump({
    "stats": stats, "files": files, "failed": sum(bool(item.result.failures) for item in result.items),
    "findings": sum(len(item.result.findings) for item in result.items), "libcst": "libcst" in sys.modules,
}, sys.stdout)
"""
#: Reads and parses the files named on standard input; prints CPU seconds of reading, of parsing, and the number of lines.
PARSE = """
import ast, json, sys, time, warnings
warnings.simplefilter("ignore")
names = json.load(sys.stdin)
start = time.process_time()
texts = []
for name in names:
    with open(name, "rb") as stream:
        texts.append(stream.read())
read = time.process_time()
failed = 0
for text in texts:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        failed += 1
done = time.process_time()
print(json.dumps([read - start, done - read, sum(text.count(b"\\n") for text in texts), failed]))
"""
#: For the hook: nothing that a rule could need, or reads without writes.
PLAIN = '''
def area_{n}_{i}(width: float, height: float, unit: str = "m") -> str:
    """The area of a rectangle, as text."""
    if width < 0 or height < 0:
        raise ValueError(f"negative size: {{width}} x {{height}}")
    value = width * height
    parts = [f"{{value:.2f}}", unit, "2"]
    return " ".join(part for part in parts if part)

'''
READER = '''
import requests


def status_{n}(host: str) -> int:
    """What the health page says."""
    answer = requests.get(f"https://{{host}}/health", timeout=5)
    answer.raise_for_status()
    return answer.json()["status"]

'''


def environment() -> dict[str, str]:
    """The environment of every measured process: bytecode is kept, or each start would compile noclobber anew."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE" and not key.startswith("NOCLOBBER_")}
    return {**kept, "PYTHONPYCACHEPREFIX": os.path.join(tempfile.gettempdir(), f"noclobber-speed-{os.getuid()}")}


def cpu(command: list[str], cwd: str | None = None, expect: tuple[int, ...] = (0, 1)) -> float:
    """CPU seconds (user and system) of a command and its children. Exits when it ends otherwise than expected."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, cwd=cwd, env=environment(), stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in expect:
            errors.seek(0)
            text = errors.read().decode("utf-8", "replace")[-2000:]
            print(f"{' '.join(command[:6])} …: exit {process.returncode}\n{text}", file=sys.stderr)
            raise SystemExit(1)
    return usage.ru_utime + usage.ru_stime


def best(repeat: int, command: list[str], **options: object) -> float:
    """The least of some runs: what disturbs a run only adds to it, and the first one may have to write bytecode."""
    return min(cpu(command, **options) for _ in range(repeat + 1))  # type: ignore[arg-type]


def noclobber(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "noclobber", "check", *arguments]


def imports(repeat: int) -> dict[str, float]:
    """Module → CPU seconds of importing it, beyond the start of Python."""
    bare = best(repeat, [sys.executable, "-c", "pass"], expect=(0,))
    costs = {"(python)": bare}
    for module in IMPORTS:
        costs[module] = max(0.0, best(repeat, [sys.executable, "-c", f"import {module}"], expect=(0,)) - bare)
    return costs


def tree(paths: list[str], repeat: int) -> dict[str, object]:
    """The measurements over source trees."""
    done = subprocess.run([sys.executable, "-c", PROBE, *paths], env=environment(), capture_output=True, text=True)
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        raise SystemExit(1)
    own = json.loads(done.stdout)
    parses = []
    for _ in range(repeat):
        parse = subprocess.run([sys.executable, "-c", PARSE], input=json.dumps(own["files"]), capture_output=True, text=True, check=True)
        parses.append(json.loads(parse.stdout))
    read, parsed, lines, broken = min(parses)
    stats = own["stats"]
    # Exit 2 is a run with failures in some files; its cost is still its cost, and the failures are printed.
    seconds = best(repeat, noclobber("--no-cache", "-j1", "--output-format", "json", *paths), expect=(0, 1, 2))
    return {
        "files": len(own["files"]), "lines": lines, "unparsable": broken, "failed": own["failed"], "raw_findings": own["findings"],
        "cpu": seconds, "cpu_read": read, "cpu_ast_parse": parsed, "ratio": seconds / parsed if parsed else None,
        "share_root_lines": share(stats, "root_lines", lines), "share_lowered_lines": share(stats, "lowered_lines", lines),
        "libcst_imported": own["libcst"], "stats": stats,
    }


def share(stats: dict[str, float], key: str, lines: int) -> float | None:
    """Part of all lines; None when the engine does not count them."""
    return stats[key] / lines if key in stats and lines else None


def hook(repeat: int) -> dict[str, float]:
    """CPU seconds of a hook over ten files without a root: without a needle, and with reads only."""
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, ".git").mkdir()
        for kind, head in (("no needle", ""), ("reads only", READER)):
            names = []
            for number in range(10):
                names.append(f"{kind.split()[0]}_{number}.py")
                body = "".join(PLAIN.format(n=number, i=index) for index in range(15))
                Path(folder, names[-1]).write_text(head.format(n=number) + body, encoding="utf-8")
            command = noclobber("--force-exclude", *names)
            result[kind] = best(repeat, command, cwd=folder, expect=(0,))
            result[f"{kind}, no cache"] = best(repeat, noclobber("--force-exclude", "--no-cache", *names), cwd=folder, expect=(0,))
    return result


def percent(value: object) -> str:
    return "not counted" if value is None else f"{100 * float(value):.1f} %"  # type: ignore[arg-type]


def main() -> None:
    cli = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    cli.add_argument("paths", nargs="*", metavar="PATH", help="source trees")
    cli.add_argument("--repeat", type=int, default=3, help="runs of which the least counts (default 3)")
    cli.add_argument("--json", metavar="FILE", help="write the numbers there too")
    options = cli.parse_args()
    repeat = max(1, options.repeat)

    numbers: dict[str, object] = {"python": sys.version.split()[0]}
    if options.paths:
        numbers["tree"] = found = tree(options.paths, repeat)
        print(f"{found['files']} files, {found['lines']} lines, {found['failed']} failed, {found['raw_findings']} raw findings")
        print(f"  noclobber check --no-cache -j1   {found['cpu']:8.2f} s CPU")
        print(f"  ast.parse of the same files      {found['cpu_ast_parse']:8.2f} s CPU (reading them {found['cpu_read']:.2f} s)")
        print(f"  ratio                            {found['ratio'] or 0:8.1f}")
        print(f"  lines of roots                   {percent(found['share_root_lines']):>10}")
        print(f"  lines that became LibCST trees   {percent(found['share_lowered_lines']):>10}")
        for key, value in sorted(found["stats"].items()):  # type: ignore[attr-defined]
            if key.startswith("cpu_"):
                print(f"  {key[4:]:<32} {value:8.2f} s CPU")
    numbers["imports"] = costs = imports(repeat)
    print("imports, ms CPU beyond the start of Python")
    for module, seconds in costs.items():
        print(f"  {module:<32} {1000 * seconds:8.0f}")
    numbers["hook"] = runs = hook(repeat)
    print("a hook over 10 files without a root, ms CPU (target: 100 with a warm index)")
    for kind, seconds in runs.items():
        print(f"  {kind:<32} {1000 * seconds:8.0f}")
    if options.json:
        Path(options.json).write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

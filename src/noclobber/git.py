"""What git knows, read from its objects: nothing is checked out, no index is touched, no lock is taken."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

#: Remotes' default branches, where the remote's HEAD is not known here.
DEFAULTS = ("origin/HEAD", "origin/main", "origin/master")


class GitError(Exception):
    """git cannot answer; the message says what to do."""


def root_of(directory: str) -> str:
    """The repository's root above an absolute directory, or ""; by the file system alone."""
    while not os.path.exists(os.path.join(directory, ".git")):
        parent = os.path.dirname(directory)
        if parent == directory:
            return ""
        directory = parent
    return directory


@dataclass(frozen=True)
class Changes:
    """What differs between a revision and the work tree: paths from the root. `renamed`: old → new."""

    changed: frozenset[str]
    renamed: Mapping[str, str] = field(default_factory=dict)


class Repository:
    """One work tree. Raises GitError from every method."""

    def __init__(self, directory: str, environ: Mapping[str, str] | None = None) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        # During `git commit -a` this names index.lock: a copy of the index that is not what the work tree is compared with.
        self._environ.pop("GIT_INDEX_FILE", None)
        self._environ.update(LC_ALL="C", GIT_OPTIONAL_LOCKS="0")
        self.root = root_of(os.path.abspath(directory))
        if not self.root:
            raise GitError(f"{directory} is in no git repository, so there is no base to compare with")

    def _run(self, *arguments: str, check: bool = True) -> bytes | None:
        try:
            done = subprocess.run(
                ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *arguments],
                cwd=self.root,
                env=self._environ,
                capture_output=True,
                stdin=subprocess.DEVNULL,
            )
        except OSError as error:
            raise GitError(f"cannot run git: {(error.strerror or str(error)).lower()}") from None
        if done.returncode:
            if not check:
                return None
            said = done.stderr.decode("utf-8", "replace").strip().split("\n")
            raise GitError(f"git {arguments[0]}: {said[-1]}")
        return done.stdout

    def _commit(self, ref: str) -> str:
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", check=False)
        return found.decode().strip() if found else ""

    def _is_shallow(self) -> bool:
        return (self._run("rev-parse", "--is-shallow-repository", check=False) or b"").strip() == b"true"

    def candidates(self) -> list[str]:
        """What `auto` may mean here, the first that exists counts."""
        environ = self._environ
        names = []
        if environ.get("GITHUB_BASE_REF"):
            names += [f"origin/{environ['GITHUB_BASE_REF']}", environ["GITHUB_BASE_REF"]]
        names += [environ[name] for name in ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "PRE_COMMIT_FROM_REF") if environ.get(name)]
        return names or list(DEFAULTS)

    def base(self, ref: str) -> str:
        """The commit that `ref` (or `auto`) and HEAD have in common."""
        names = self.candidates() if ref == "auto" else [ref]
        named = next((name for name in names if self._commit(name)), "")
        remedy = "\n  fetch more history (actions/checkout: fetch-depth: 0; GitLab: GIT_DEPTH: 0; git fetch --unshallow) or drop --diff-base"
        if not named:
            shown = " or ".join(names)
            raise GitError(f"cannot find {shown} in this repository" + (": this clone is shallow." + remedy if self._is_shallow() else "\n  name the branch to compare with: --diff-base main"))
        if not self._commit("HEAD"):
            raise GitError("this repository has no commit yet")
        found = self._run("merge-base", "HEAD", self._commit(named), check=False)
        if not found:
            why = ": this clone is shallow." + remedy if self._is_shallow() else ": they have no history in common"
            raise GitError(f"cannot find a common ancestor of HEAD and {named}{why}")
        return found.decode().split()[0]

    def changes(self, base: str) -> Changes:
        """What differs between the base and the work tree, untracked files included."""
        fields = (self._run("diff", "--name-status", "-M", "-z", "--no-ext-diff", base, "--") or b"").split(b"\0")
        changed: set[str] = set()
        renamed: dict[str, str] = {}
        at = 0
        while at + 1 < len(fields):
            status = fields[at][:1]
            if status in (b"R", b"C"):
                old, new = os.fsdecode(fields[at + 1]), os.fsdecode(fields[at + 2])
                changed.add(new)
                if status == b"R":
                    renamed[old] = new
                at += 3
            else:
                changed.add(os.fsdecode(fields[at + 1]))
                at += 2
        untracked = (self._run("ls-files", "--others", "--exclude-standard", "-z") or b"").split(b"\0")
        changed.update(os.fsdecode(name) for name in untracked if name)
        return Changes(frozenset(changed), renamed)

    def touched_lines(self, base: str) -> dict[str, set[int]]:
        """path → lines of the work tree's file that the base has not."""
        text = (self._run("diff", "-U0", "-M", "--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", base, "--") or b"").split(b"\n")
        touched: dict[str, set[int]] = {}
        path = ""
        for line in text:
            if line.startswith(b"+++ "):
                name = os.fsdecode(line[4:].split(b"\t")[0])
                path = name[2:] if name.startswith("b/") else ""
            elif line.startswith(b"@@ ") and path:
                start, _, number = line.split(b" ")[2][1:].partition(b",")
                first, length = int(start), int(number or 1)
                touched.setdefault(path, set()).update(range(first, first + length) if length else (first, first + 1))
        return touched

    def export(self, commit: str, target: str, suffixes: Sequence[str] = (".py",)) -> int:
        """Write the commit's files with these suffixes below `target`, from the objects. Returns how many. No links."""
        listed = (self._run("ls-tree", "-r", "-z", commit) or b"").split(b"\0")
        wanted = []
        for row in listed:
            head, tab, name = row.partition(b"\t")
            path = os.fsdecode(name)
            if tab and head.startswith((b"100644", b"100755")) and path.endswith(tuple(suffixes)):
                wanted.append((head.split()[2], path))
        if not wanted:
            return 0
        with subprocess.Popen(
            ["git", "--no-optional-locks", "cat-file", "--batch"],
            cwd=self.root,
            env=self._environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            for blob, path in wanted:
                process.stdin.write(blob + b"\n")
                process.stdin.flush()
                answer = process.stdout.readline().split()
                if len(answer) != 3 or answer[1] != b"blob":
                    process.kill()
                    raise GitError(f"the content of {path} at {commit[:12]} is not here (a partial clone?); fetch it or drop --diff-base")
                data = process.stdout.read(int(answer[2]))
                process.stdout.read(1)
                file = os.path.join(target, path)
                os.makedirs(os.path.dirname(file), exist_ok=True)
                with open(file, "wb") as stream:
                    stream.write(data)
            process.stdin.close()
        return len(wanted)

"""Tools of a module: what exposes them, what the model sees of their parameters, what their descriptions ask for, and where findings stand."""
from __future__ import annotations

from pathlib import Path

import pytest

from helpers import everything_on, lint_bytes
from noclobber import knowledge
from noclobber.analyse import analyse
from noclobber.resolve import Source, index_module
from noclobber.trace.exposed import Body, Collected, Parameter, Tool
from noclobber.trace.toolbox import Bench

HEAD = "import sqlite3\nfrom mcp.server.fastmcp import Context, FastMCP\nfrom mcp.types import ToolAnnotations\nmcp = FastMCP('x')\ndb = sqlite3.connect('x.db')\n"
WRITE = "db.execute('UPDATE pages SET title = ?, version = version + 1 WHERE id = ?', (title, page_id))"


def found(text: str) -> list[tuple[str, int]]:
    return [(finding.name, finding.place.line) for finding in lint_bytes(text.encode(), "tools_case.py")]


def test_what_the_framework_injects_is_no_parameter() -> None:
    """A version that only the injected context could carry is none; a value of the context is not the model's."""
    given = HEAD + f"@mcp.tool()\ndef rename(page_id: int, title: str, version: Context) -> str:\n    {WRITE}\n    return 'ok'\n"
    assert found(given) == [("write-tool-without-version", 7)]
    assert found(given.replace("version: Context", "version: int")) == []
    assert found(given.replace("title: str", "title: Context")) == []


def test_a_hint_does_not_make_a_tool_read_only() -> None:
    text = HEAD + f"@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))\ndef rename(page_id: int, title: str) -> str:\n    {WRITE}\n    return 'ok'\n"
    (finding,) = lint_bytes(text.encode(), "tools_case.py")
    assert "although it is declared read-only" in finding.message


def test_the_body_decides_not_the_name() -> None:
    text = HEAD + "@mcp.tool()\ndef update_everything(page_id: int, title: str) -> str:\n    return title\n"
    assert found(text) == []
    text = HEAD + f"def store(page_id, title):\n    {WRITE}\n@mcp.tool()\ndef look_at(page_id: int, title: str) -> str:\n    store(page_id, title)\n    return 'ok'\n"
    assert found(text) == [("write-tool-without-version", 9)]


@pytest.mark.parametrize("exposed", ["mcp.add_tool(rename)", "mcp.tool()(rename)", ""])
def test_registration(exposed: str) -> None:
    """`mcp.tool()(f)` is a call of what a decorator gave: not followed."""
    text = HEAD + f"def rename(page_id: int, title: str) -> str:\n    {WRITE}\n    return 'ok'\n{exposed}\n"
    assert found(text) == ([("write-tool-without-version", 6)] if exposed == "mcp.add_tool(rename)" else [])


DISPATCH = HEAD.replace("mcp = FastMCP('x')\n", "") + """TOOLS = [
    {"name": "show", "input_schema": {"type": "object", "properties": {"page_id": {"type": "integer"}}}},
    {"name": "rename", "input_schema": {"type": "object", "properties": {"page_id": {"type": "integer"}, "title": {"type": "string"}}}},
]
"""


@pytest.mark.parametrize("body", [
    "def run(name, args):\n    if name == 'show':\n        return db.execute('SELECT * FROM pages WHERE id = ?', (args['page_id'],)).fetchone()\n    elif name in ('rename',):\n        {}\n        return 'ok'\n",
    "def run(call):\n    match call.name:\n        case 'show':\n            return 1\n        case 'rename':\n            args = call.input\n            {}\n            return 'ok'\n",
    "def rename(args):\n    {}\n    return 'ok'\nHANDLERS = {{'rename': rename}}\n",
    "class Desk:\n    def handle_rename(self, args):\n        {}\n        return 'ok'\n",
])
def test_raw_schemas_find_their_handler(body: str) -> None:
    write = "db.execute('UPDATE pages SET title = ?, version = version + 1 WHERE id = ?', (args['title'], args['page_id']))"
    assert found(DISPATCH + body.format(write)) == [("write-tool-without-version", 7)]


def test_defined_elsewhere_stands_at_its_registration(tmp_path: Path) -> None:
    (tmp_path / "pages.py").write_text(f"import sqlite3\ndb = sqlite3.connect('x.db')\ndef rename(page_id: int, title: str) -> str:\n    {WRITE}\n    return 'ok'\n")
    server = tmp_path / "server.py"
    server.write_text("from fastmcp import FastMCP\nfrom pages import rename\nmcp = FastMCP('x')\nmcp.add_tool(rename)\n")
    (tmp_path / "__init__.py").touch()
    server.write_text(server.read_text().replace("from pages", "from .pages"))
    result = analyse(server.read_bytes(), str(server), everything_on())
    assert [(finding.name, finding.place.line) for finding in result.findings] == [("write-tool-without-version", 4)]
    assert not result.failures


WHOLE = [
    ("Write the complete ticket.", True), ("Stores the full markdown text of a runbook.", True), ("Pass the whole recipe, also the parts that stay.", True),
    ("Send the entire ticket object.", True), ("Full-text search in tickets.", False), ("Complete a task.", False), ("Give the full name of the owner.", False),
    ("Change one field; a full history of the ticket is kept.", False), ("Change single fields.", False),
]


@pytest.mark.parametrize(("description", "wanted"), WHOLE)
def test_descriptions_that_ask_for_all_of_it(description: str, wanted: bool) -> None:
    source = Source.decode("a.py", b"x = 1\n")
    index, _ = index_module(source)
    bench = Bench(Collected(), type("M", (), {"index": index, "source": source, "path": "a.py"}), knowledge.load().vocabulary, lambda scope: None, lambda *args: None)
    body = Body(type("T", (), {"events": []}), 0, 0, "save_ticket", None, (), "", ())
    tool = Tool("save_ticket", None, body, (Parameter("ticket_id"), Parameter("recipe")), description)
    assert bench.is_whole(tool) is wanted

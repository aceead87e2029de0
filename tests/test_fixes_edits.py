"""Edits: where they stand, what they leave alone. Byte for byte, whatever the file looks like around them."""
from __future__ import annotations

import os

import pytest
from helpers import everything_on
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from noclobber import engine, verdict
from noclobber.analyse import Workspace
from noclobber.cli import fixing
from noclobber.finding import Edit
from noclobber.fixes.apply import Lines, apply, compatible
from noclobber.fixes.edits import Refused, Sheet, walk
from noclobber.resolve import Source
from noclobber.trace.lower import lower_lines

import libcst as cst


def sheet_of(text: str, indented: bool = False) -> Sheet:
    source = Source.decode("a.py", text.encode())
    return Sheet(source, lower_lines(source, 1, len(source.lines), indented=indented))


def node_of(sheet: Sheet, code: str, kind: type = cst.BaseExpression):
    """The node of that kind with that text."""
    for node in walk(sheet.excerpt.module):
        if isinstance(node, kind):
            try:
                if sheet.code(node) == code:
                    return node
            except Refused:
                continue
    raise AssertionError(code)


def result(sheet: Sheet) -> str:
    return apply(sheet.source, sheet.finished()).decode()


# --- places ------------------------------------------------------------------------------------------------------------------


def test_lines_end_as_python_says():
    lines = Lines("a\r\nbé\rc\x0cd\n")
    assert lines.starts == [0, 3, 6, 10]
    assert [lines.place(offset) for offset in (0, 3, 4, 6, 9, 10)] == [(1, 1), (2, 1), (2, 2), (3, 1), (3, 4), (4, 1)]
    assert lines.offset(2, 2) == 4 and lines.end(1) == (1, 3) and lines.end(3) == (9, 10)


def test_apply_refuses_what_overlaps_and_keeps_the_rest():
    source = Source.decode("a.py", b"\xef\xbb\xbfx = 1\r\ny = 2")
    assert apply(source, [Edit((2, 5), (2, 6), "3"), Edit((1, 1), (1, 2), "z")]) == b"\xef\xbb\xbfz = 1\r\ny = 3"
    with pytest.raises(ValueError, match="overlap"):
        apply(source, [Edit((1, 1), (1, 4), ""), Edit((1, 3), (1, 5), "")])


def test_latin_1_stays_latin_1():
    data = "# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1")
    source = Source.decode("a.py", data)
    assert apply(source, [Edit((2, 1), (2, 5), "nom")]) == data.replace(b"name", b"nom")
    with pytest.raises(UnicodeEncodeError):
        apply(source, [Edit((2, 1), (2, 5), "имя")])


def test_edits_of_two_fixes_touch_or_do_not():
    a, b = Edit((1, 1), (1, 5), "x"), Edit((2, 1), (2, 1), "from a import b\n")
    assert compatible([a], [Edit((1, 6), (1, 7), "")]) and not compatible([a], [Edit((1, 5), (1, 7), "")])
    assert compatible([b], [b])  # the same import, added once
    assert not compatible([a], [a])


# --- primitives ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after"), [
    ("f()\n", "f(k=1)\n"),
    ("f(a)\n", "f(a, k=1)\n"),
    ("f(a, )\n", "f(a, k=1 )\n"),
    ("f(*a, **b)\n", "f(*a, **b, k=1)\n"),
    ("f((a))\n", "f((a), k=1)\n"),
    ("f(\n    a,  # first\n    b,  # second\n)\n", "f(\n    a,  # first\n    b,  # second\n    k=1,\n)\n"),
    ("f(\n    a,\n    b\n)\n", "f(\n    a,\n    b, k=1\n)\n"),
    ("f(a,\r\n  b,\r\n)\r\n", "f(a,\r\n  b,\r\n  k=1,\r\n)\r\n"),
])
def test_add_argument(before, after):
    sheet = sheet_of(before)
    sheet.add_argument(next(node for node in walk(sheet.excerpt.module) if isinstance(node, cst.Call)), "k=1")
    assert result(sheet) == after


@pytest.mark.parametrize(("before", "reason"), [
    ("f(x for x in y)\n", "the call's only argument is a generator"),
    ("f(\n    a  # why\n)\n", "a comment stands in the way"),
])
def test_add_argument_refuses(before, reason):
    sheet = sheet_of(before)
    with pytest.raises(Refused, match=reason):
        sheet.add_argument(next(node for node in walk(sheet.excerpt.module) if isinstance(node, cst.Call)), "k=1")


@pytest.mark.parametrize(("before", "after"), [
    ("a()  # why\nb()\n", "a()  # why\nnew\nb()\n"),
    ("a()", "a()\nnew"),
    ("a(\n  1\n)\r\n", "a(\n  1\n)\r\nnew\r\n"),
    ("if x:\n\ta()\n", "if x:\n\ta()\n\tnew\n"),
])
def test_insert_after(before, after):
    sheet = sheet_of(before)
    call = next(node for node in walk(sheet.excerpt.module) if isinstance(node, cst.Call) and sheet.code(node.func) == "a")
    sheet.insert_after(sheet.spot(call), ["new"])
    assert result(sheet) == after


@pytest.mark.parametrize(("before", "after"), [
    ("x()\n# of a\na()\n", "x()\nnew\n# of a\na()\n"),
    ("x()\n# of x\n\na()\n", "x()\n# of x\n\nnew\na()\n"),
    ("\x0ca()\n", "\x0cnew\na()\n"),
    ("@d\ndef a(): pass\n", "new\n@d\ndef a(): pass\n"),
])
def test_insert_before(before, after):
    sheet = sheet_of(before)
    at = next(node for node in walk(sheet.excerpt.module) if isinstance(node, (cst.Call, cst.FunctionDef)) and "a" in sheet.code(node)[:6])
    sheet.insert_before(sheet.spot(at), ["new"])
    assert result(sheet) == after


@pytest.mark.parametrize(("before", "after"), [
    ("a()\nb()\n", "b()\n"),
    ("b()\na()", "b()"),
    ("b()\n# kept\na()\nc()\n", "b()\n# kept\nc()\n"),
    ("b()\na(\n  1,\n)\nc()\n", "b()\nc()\n"),
])
def test_delete(before, after):
    sheet = sheet_of(before)
    call = next(node for node in walk(sheet.excerpt.module) if isinstance(node, cst.Call) and sheet.code(node.func) == "a")
    sheet.delete(sheet.spot(call))
    assert result(sheet) == after


@pytest.mark.parametrize(("before", "reason"), [
    ("a()  # why\nb()\n", "a comment stands behind what would go"),
    ("if x:\n    a()\nb()\n", "the block would be empty"),
    ("a(); b()\n", "several statements share the line"),
    ("if x: a()\nb()\n", "the statement shares the line of its header"),
])
def test_delete_refuses(before, reason):
    sheet = sheet_of(before)
    call = next(node for node in walk(sheet.excerpt.module) if isinstance(node, cst.Call) and sheet.code(node.func) == "a")
    with pytest.raises(Refused, match=reason):
        sheet.delete(sheet.spot(call))


def test_places_inside_an_indented_excerpt_with_a_form_feed():
    sheet = sheet_of("    def f(self):\n\x0c        return (a + é)\n", indented=True)
    node = node_of(sheet, "(a + é)", cst.BinaryOperation)
    assert sheet.text[slice(*sheet.span(node))] == "a + é"
    sheet.replace(node, "b")
    assert result(sheet) == "    def f(self):\n\x0c        return b\n"


def test_a_comment_is_never_replaced():
    sheet = sheet_of("x = (a +  # old\n     b)\n")
    with pytest.raises(Refused, match="a comment stands in the way"):
        sheet.replace(node_of(sheet, "(a +  # old\n     b)", cst.BinaryOperation), "c")
    sheet = sheet_of("x = '#' + b\n")
    sheet.replace(node_of(sheet, "'#' + b", cst.BinaryOperation), "c")
    assert result(sheet) == "x = c\n"


# --- imports ---------------------------------------------------------------------------------------------------------------------

COUNT = '''

def visited(pk):
    page = Page.objects.get(pk=pk)
    page.hits += 1
    page.save(update_fields=["hits"])
'''


@pytest.mark.parametrize(("head", "now"), [
    ("from django.db.models import Q, Sum  # sums\nfrom a import Page\n", "from django.db.models import F, Q, Sum  # sums\nfrom a import Page\n"),
    ("from django.db.models import (\n    Q,\n)\nfrom a import Page\n", "from django.db.models import (\n    Q,\n)\nfrom django.db.models import F\nfrom a import Page\n"),
    ("import os\nfrom django.http import Http404\nimport zlib\nfrom a import Page\n\nX = 1\n",
     "import os\nfrom django.db.models import F\nfrom django.http import Http404\nimport zlib\nfrom a import Page\n\nX = 1\n"),
    ("from django.http import Http404\ntry:\n    import x\nexcept ImportError:\n    x = None\nfrom a import Page\n",
     "from django.db.models import F\nfrom django.http import Http404\ntry:\n    import x\nexcept ImportError:\n    x = None\nfrom a import Page\n"),
])
def test_where_an_import_goes(head, now):
    assert fixed((head + COUNT).encode()).decode() == (now + COUNT).replace("page.hits += 1", 'page.hits = F("hits") + 1')


@pytest.mark.parametrize(("head", "code"), [
    ("from django.db.models import F\nfrom a import Page\n", "F"),
    ("from django.db.models import F as DF\nfrom a import Page\n", "DF"),
    ("from django.db import models as m\nfrom a import Page\n", "m.F"),
])
def test_imports_that_are_there_are_used(head, code):
    assert fixed((head + COUNT).encode()).decode() == (head + COUNT).replace("page.hits += 1", f'page.hits = {code}("hits") + 1')


def test_a_name_that_means_something_else_is_not_taken():
    text = "from django.http import Http404\nfrom a import Page, F\n" + COUNT
    assert fixed(text.encode()).decode() == text


# --- the file around -----------------------------------------------------------------------------------------------------------------

BODY = '''\
from django.db import models


class Page(models.Model):
    hits = models.IntegerField(default=0)


def visited(pk):
    page = Page.objects.get(pk=pk)
    page.hits += 1
    page.save()
'''
FIXED = BODY.replace("page.hits += 1", 'page.hits = models.F("hits") + 1').replace("page.save()", 'page.save(update_fields=["hits"])')


def fixed(data: bytes) -> bytes:
    path, config = "nowhere/app.py", everything_on()
    workspace = Workspace(config, buffers={os.path.abspath(path): data})

    def work() -> bytes:
        item = engine.analyse_item(data, path, config, workspace)
        return fixing.fix_file(item, data, lambda one: verdict.settle([one]).findings, workspace, True).data

    return engine.on_big_stack(work)


@pytest.mark.parametrize("form", [
    lambda text: text.encode(),
    lambda text: text.replace("\n", "\r\n").encode(),
    lambda text: text.replace("\n", "\r").encode(),
    lambda text: b"\xef\xbb\xbf" + text.encode(),
    lambda text: text.replace("    ", "\t").encode(),
    lambda text: text.removesuffix("\n").encode(),
    lambda text: text.replace("\n", "\r\n").removesuffix("\r\n").encode(),
    lambda text: ("\x0c" + text).encode(),
    lambda text: text.replace("\ndef", "\n\x0c\ndef").encode(),
    lambda text: ("# é 𐐀\n" + text).encode(),
    lambda text: ("# -*- coding: latin-1 -*-\n# é\n" + text).encode("latin-1"),
], ids=["plain", "crlf", "cr", "bom", "tabs", "no-end", "crlf-no-end", "form-feed", "form-feed-inside", "astral", "latin-1"])
def test_files_of_every_kind_change_in_the_edits_only(form):
    assert fixed(form(BODY)) == form(FIXED)


@pytest.mark.parametrize("data", [b"", b"\n", b"x = (\n", b"\x00", b"\xff", "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1")])
def test_files_without_a_fix_stay(data):
    assert fixed(data) == data


# --- property ------------------------------------------------------------------------------------------------------------------------

_COMMENT = st.sampled_from(["", "", "  # note", "\t# é", "  # page.hits += 1", "  # 'quoted\""])
_BLANKS = st.lists(st.sampled_from(["", "   ", "# between", "    # indented", "\t"]), max_size=3)
#: (lines of a function body, what they become); `{}`: where random things go.
_PROGRAMS = [
    (["page = Page.objects.get(pk=pk)", "page.hits += 1", "page.save()"],
     ["page = Page.objects.get(pk=pk)", 'page.hits = models.F("hits") + 1', 'page.save(update_fields=["hits"])']),
    (["page = Page.objects.get(", "    pk=pk", ")", "page.hits = page.hits + (", "    1", ")", "page.save(", "    update_fields=['hits'],", ")"],
     ["page = Page.objects.get(", "    pk=pk", ")", "page.hits = models.F('hits') + (", "    1", ")", "page.save(", "    update_fields=['hits'],", ")"]),
    (["row = db.execute('SELECT n FROM t WHERE id = ?', (pk,)).fetchone()", "db.execute('UPDATE t SET n = ? WHERE id = ?', (row[0] + 1, pk))", "db.commit()"],
     ["row = db.execute('SELECT n FROM t WHERE id = ?', (pk,)).fetchone()", "db.execute('UPDATE t SET n = n + ? WHERE id = ?', (1, pk))", "db.commit()"]),
]
_HEAD = ["import sqlite3", "from django.db import models", "", "", "class Page(models.Model):", "    hits = models.IntegerField(default=0)", "", "",
         "def run(pk, db: sqlite3.Connection):"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    program=st.sampled_from(_PROGRAMS),
    comments=st.lists(_COMMENT, min_size=12, max_size=12),
    blanks=st.lists(_BLANKS, min_size=12, max_size=12),
    newline=st.sampled_from(["\n", "\r\n"]),
    tabs=st.booleans(), bom=st.booleans(), end=st.booleans(),
    tail=st.lists(st.sampled_from(["", "# the end", "x = 1  # one", "\x0c"]), max_size=3),
)
def test_what_stands_around_does_not_change(program, comments, blanks, newline, tabs, bom, end, tail):
    """Random comments, blank lines, line breaks, tabs around fixable code: the fixed file is the plain one's fix with the same around it."""

    def file(body: list[str]) -> bytes:
        rows = list(_HEAD)
        open_ = 0
        for number, row in enumerate(body):
            inside = open_ > 0
            rows += [] if inside else blanks[number]
            open_ += row.count("(") + row.count("[") - row.count(")") - row.count("]")
            rows.append("    " + row + (comments[number] if not open_ and not inside else ""))
        text = newline.join([*rows, *tail])
        if tabs:
            text = text.replace("    ", "\t")
        return (b"\xef\xbb\xbf" if bom else b"") + (text + (newline if end else "")).encode()

    before, after = program
    assert fixed(file(before)) == file(after)

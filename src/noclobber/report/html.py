"""One page for a browser: the code with read, change and write marked, the two writers drawn side by side, filters.

Self-contained: no script, style, font or picture comes from elsewhere, and the page's policy forbids it.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any, TextIO

from noclobber import __version__
from noclobber.finding import CAP_REASONS, DOUBTS
from noclobber.report import Lines, Options, one_line, shown, summary
from noclobber.report.full import WORDS
from noclobber.report.patch import diff

#: Lines around a marked one; a longer gap is folded.
AROUND = 2
_TOKEN = re.compile(
    r"(?P<c>#.*)|(?P<s>[rbfuRBFU]{0,2}(?:\"\"\".*?(?:\"\"\"|$)|'''.*?(?:'''|$)|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?))"
    r"|(?P<k>\b(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is"
    r"|lambda|match|case|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False|self)\b)|(?P<n>\b\d[\w.]*)"
    r"|(?P<d>@[\w.]+)"
)


def write(settled: Any, stream: TextIO, lines: Lines, options: Options = Options()) -> None:
    """Write the page."""
    findings = shown(settled, options)
    rules = sorted({(f.code, f.name) for f in findings})
    paths = sorted({f.place.path for f in findings})
    severities = [s for s in ("error", "warning", "info") if any(f.severity == s for f in findings)]
    out = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
        f"<title>noclobber: {len(findings)} findings</title>",
        f"<style>{STYLE}</style></head><body>",
        f"<header><h1>noclobber</h1><p>{escape(summary(settled, options.seconds))}</p>",
        '<form id="filters" role="search" aria-label="Filters">',
        _select("rule", "all rules", [(code, f"{code} {name}") for code, name in rules]),
        _select("path", "all files", [(path, one_line(path)) for path in paths]),
        _select("severity", "all severities", [(s, s) for s in severities]),
        '<label>Text <input type="search" id="text" placeholder="press /"></label>',
        '<output id="count" aria-live="polite"></output>',
        '<button type="button" id="fold" aria-pressed="false">Fold all</button></form>',
        "<p class=hint>Keys: <kbd>j</kbd>/<kbd>k</kbd> next and previous, <kbd>Enter</kbd> fold, <kbd>/</kbd> search, <kbd>Esc</kbd> clear.</p>",
        "</header><main>",
    ]
    if not findings:
        out.append("<p class=none>No findings.</p>")
    for number, finding in enumerate(findings, 1):
        out += _finding(finding, number, settled.pages.get(finding.name), lines)
    out += [f"</main><footer>noclobber {escape(__version__)}</footer>", f"<script>{SCRIPT}</script></body></html>"]
    stream.write("\n".join(out) + "\n")


def _select(name: str, everything: str, options: list[tuple[str, str]]) -> str:
    rows = "".join(f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in options)
    return f'<label>{name.capitalize()} <select id="{name}"><option value="">{everything}</option>{rows}</select></label>'


def _finding(finding: Any, number: int, page: Any, lines: Lines) -> list[str]:
    place = finding.place
    where = f"{one_line(place.path)}:{place.line}:{place.column}"
    function = f" in <code>{escape(finding.function)}()</code>" if finding.function and not finding.function.startswith("<") else ""
    data = f'data-rule="{escape(finding.code)}" data-path="{escape(place.path)}" data-severity="{escape(finding.severity)}"'
    out = [
        f'<article id="f{number}" class="{escape(finding.severity)}" tabindex="-1" {data}><details open><summary>',
        f'<span class="badge">{escape(finding.severity)}</span> <b>{escape(finding.code)} {escape(finding.name)}</b> ',
        f'<span class="message">{_code(finding.message)}</span></summary>',
        f'<p class="where"><a href="#f{number}">{escape(where)}</a>{function} · confidence {escape(finding.confidence)}{_doubts(finding)}'
        + (" · preview" if page is not None and page.status == "preview" else "")
        + "</p>",
    ]
    out += _snippets(finding, lines)
    if finding.interleaving:
        out += _timeline(finding)
    rows = []
    if finding.suppressed:
        kind, reason, line = finding.suppressed
        rows.append(("Suppressed", f"{kind}, line {line}" + (f": {reason}" if reason else "")))
    if finding.help:
        rows.append(("Repair", finding.help))
    if finding.census:
        rows.append(("Other writers", finding.census))
    for guard in finding.guards:
        rows.append(("No guard", f"{guard.kind} ({guard.place.path}:{guard.place.line}): {guard.why_not}"))
    if finding.also:
        rows.append(("Also", ", ".join(finding.also)))
    if rows:
        out.append("<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{_code(text)}</dd>" for name, text in rows) + "</dl>")
    change = diff(finding, lines)
    if change:
        out.append(f'<h3>Fix: {escape(finding.fix.title)} <span class="badge">{escape(finding.fix.applicability)}</span></h3>' + (f"<p>Unsafe because {escape(finding.fix.reason)}.</p>" if finding.fix.reason else "") + '<pre class="diff">')
        kinds = {"+": "add", "-": "del", "@": "hunk"}
        out += [f'<span class="{kinds.get(line[:1], "")}">{escape(line)}</span>' for line in change]
        out.append("</pre>")
    if finding.teach:
        out.append(f"<details class=teach><summary>If this is guarded where noclobber cannot see it</summary><pre>{escape(finding.teach)}</pre></details>")
    if page is not None and page.sections:
        sections = [page.sections.get(name, "") for name in ("What it does", "How the update is lost")]
        body = "".join(f"<p>{_code(' '.join(part.split()))}</p>" for text in sections for part in text.split("\n\n") if part.strip() and "|" not in part and "```" not in part)
        if body:
            out.append(f"<details class=rule><summary>About {escape(finding.code)}: {_code(page.summary)}</summary>{body}</details>")
    out.append("</details></article>")
    return out


def _doubts(finding: Any) -> str:
    reasons = [DOUBTS.get(reason) or CAP_REASONS.get(reason, reason) for reason in sorted(finding.doubts)]
    return f" ({escape('; '.join(reasons))})" if reasons else ""


def _code(text: str) -> str:
    """Escaped text, with what stands between backquotes as code."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        return escape(one_line(text))
    return "".join(f"<code>{escape(part)}</code>" if index % 2 else escape(part) for index, part in enumerate(parts))


def _snippets(finding: Any, lines: Lines) -> list[str]:
    place = finding.place
    marks: dict[str, dict[int, list[tuple[str, str, int, int | None]]]] = {place.path: {}}
    seen = set()
    for role, where, message in [("write", place, ""), *((r.role, r.place, r.message) for r in finding.related)]:
        if (where.path, where.line, where.column) == (place.path, place.line, place.column):
            role = "write"
            message = message or next((r.message for r in finding.related if r.place == place and r.message), "")
        key = (where.path, where.line, where.column)
        if key in seen:
            continue
        seen.add(key)
        end = where.end_column if where.end_line == where.line else None
        marks.setdefault(where.path, {}).setdefault(where.line, []).append((role, message or WORDS.get(role, role), where.column, end))
    out = []
    for path, rows in marks.items():
        text = lines(path)
        if text is None:
            continue
        wanted = sorted({n for line in rows for n in range(line - AROUND, line + AROUND + 1) if 1 <= n <= len(text)})
        if not wanted:
            continue
        if path != place.path:
            out.append(f'<p class="where">{escape(one_line(path))}</p>')
        out.append('<pre class="code" tabindex="0">')
        last = wanted[0] - 1
        for number in wanted:
            if number > last + 1:
                out.append('<span class="gap">⋯</span>')
            last = number
            here = sorted(rows.get(number, []), key=lambda mark: mark[2])
            kinds = f" class=\"l {' '.join(sorted({'m-' + ('write' if m[0] in ('write', 'effect') else 'other') for m in here}))}\"" if here else ' class="l"'
            labels = "".join(f'<span class="label r-{escape(role)}">{_code(label)}</span>' for role, label, _, _ in here)
            out.append(f'<span{kinds}><span class="n">{number}</span>{_line(text[number - 1], here)}{labels}</span>')
        out.append("</pre>")
    return out


def _line(source: str, marks: list[tuple[str, str, int, int | None]]) -> str:
    """One line of code: tokens coloured, marked ranges underlined."""
    source = "".join(char if char.isprintable() or char == "\t" else "\ufffd" for char in source)
    kinds = [""] * len(source)
    for found in _TOKEN.finditer(source):
        for at in range(found.start(), found.end()):
            kinds[at] = found.lastgroup or ""
    under = [False] * len(source)
    for _, _, start, end in marks:
        for at in range(max(start - 1, 0), min(len(source), len(source) if end is None else end - 1)):
            under[at] = True
    out = []
    at = 0
    while at < len(source):
        stop = at
        while stop < len(source) and kinds[stop] == kinds[at] and under[stop] == under[at]:
            stop += 1
        names = " ".join(filter(None, (f"t-{kinds[at]}" if kinds[at] else "", "u" if under[at] else "")))
        text = escape(source[at:stop])
        out.append(f'<span class="{names}">{text}</span>' if names else text)
        at = stop
    return "".join(out)


def _timeline(finding: Any) -> list[str]:
    """Two lanes: each step in its worker's lane, what the record then holds at the side."""
    out = ['<table class="timeline"><caption>How two writers lose an update</caption>']
    out.append('<thead><tr><th scope="col">line</th><th scope="col">worker A</th><th scope="col">worker B</th><th scope="col">the record</th></tr></thead><tbody>')
    before = ""
    for step in finding.interleaving:
        cell = f'<span class="step">{_code(step.text)}</span>'
        a, b = (cell, "") if step.worker == "A" else ("", cell)
        changed = " changed" if before and step.state != before else ""
        before = step.state
        out.append(
            f'<tr><td class="n">{step.line or ""}</td><td class="lane a">{a}</td><td class="lane b">{b}</td>'
            f'<td class="state{changed}">{_code(step.state)}</td></tr>'
        )
    out.append("</tbody></table>")
    return out


STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--dim:#59636e;--line:#d1d9e0;--card:#f6f8fa;--red:#b3261e;--amber:#8a5300;--blue:#0a57b0;
--green:#1a7f37;--kw:#8250df;--str:#0a6640;--num:#0550ae;--hot:#ffe9e7;--warm:#e8f1fd;--lane:#eef2f6}
@media (prefers-color-scheme:dark){:root{--bg:#0f1419;--fg:#e3e8ee;--dim:#98a4b1;--line:#333c47;--card:#171d24;--red:#ff8a80;--amber:#f0b35a;--blue:#7ab8ff;
--green:#5fd38a;--kw:#c9a6ff;--str:#7fd6a8;--num:#8cc4ff;--hot:#3b1d1d;--warm:#16283d;--lane:#1c242d}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif}
header{position:sticky;top:0;background:var(--bg);border-bottom:1px solid var(--line);padding:.6rem 1.2rem;z-index:1}
h1{font-size:1.1rem;margin:0;display:inline}header p{display:inline;margin:0 0 0 .8rem;color:var(--dim)}header .hint{display:block;margin:.2rem 0 0;font-size:.8rem}
form{display:flex;flex-wrap:wrap;gap:.4rem 1rem;margin-top:.5rem;align-items:center}label{color:var(--dim)}
select,input,button{font:inherit;color:var(--fg);background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.15rem .4rem;max-width:20rem}
main{max-width:75rem;margin:0 auto;padding:1rem 1.2rem}article{border:1px solid var(--line);border-left:4px solid var(--blue);border-radius:6px;margin:0 0 1rem;padding:.6rem 1rem;background:var(--card)}
article.error{border-left-color:var(--red)}article.warning{border-left-color:var(--amber)}article:focus,article:focus-within{outline:2px solid var(--blue)}
article[hidden]{display:none}summary{cursor:pointer}.badge{font-size:.75rem;border:1px solid currentColor;border-radius:9px;padding:0 .5rem;color:var(--blue)}
.error .badge{color:var(--red)}.warning .badge{color:var(--amber)}.where{color:var(--dim);margin:.4rem 0;overflow-wrap:anywhere}a{color:var(--blue)}
code,pre,kbd{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}kbd{border:1px solid var(--line);border-radius:3px;padding:0 .3rem}
pre{background:var(--bg);border:1px solid var(--line);border-radius:4px;padding:.5rem 0;overflow-x:auto;margin:.5rem 0}
pre.code{display:flex;flex-direction:column}pre.code .l{padding:0 .6rem;white-space:pre}pre .n{display:inline-block;width:3.2rem;padding-right:1rem;text-align:right;color:var(--dim);user-select:none}
.m-write{background:var(--hot)}.m-other{background:var(--warm)}.m-write .u{text-decoration:underline wavy var(--red)}.m-other .u{text-decoration:underline var(--blue)}
.label{font-family:system-ui,sans-serif;color:var(--dim);margin-left:1.2rem;white-space:nowrap}.label.r-write{color:var(--red)}.gap{color:var(--dim);padding-left:1.6rem}
.t-k{color:var(--kw)}.t-s{color:var(--str)}.t-n{color:var(--num)}.t-c{color:var(--dim);font-style:italic}.t-d{color:var(--amber)}
pre.diff,.teach pre{padding:.5rem .8rem;display:flex;flex-direction:column;white-space:pre-wrap}.add{color:var(--green)}.del{color:var(--red)}.hunk{color:var(--dim)}
.timeline{border-collapse:collapse;width:100%;margin:.6rem 0;table-layout:fixed}caption{text-align:left;color:var(--dim);padding:.2rem 0}
.timeline th{font-weight:600;text-align:left;padding:.2rem .6rem;color:var(--dim)}.timeline th:first-child{width:3.6rem}.timeline td{padding:.25rem .6rem;vertical-align:top;overflow-wrap:anywhere}
.timeline td.n{text-align:right;color:var(--dim)}.lane{background:var(--lane);border-left:3px solid var(--line)}.lane .step{display:block;border-left:3px solid var(--blue);background:var(--bg);border-radius:0 4px 4px 0;padding:.1rem .5rem}
.lane.b .step{border-left-color:var(--amber)}.state{font-family:ui-monospace,monospace;font-size:13px}.state.changed{color:var(--red);font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.6rem 0}dt{color:var(--dim)}dd{margin:0}h3{font-size:.95rem;margin:.6rem 0 0}.none{text-align:center;padding:4rem 0}
footer{color:var(--dim);text-align:center;padding:1rem}
@media print{header{position:static}form,.hint{display:none}article{break-inside:avoid;background:none}pre.code .l{white-space:pre-wrap}}
@media (max-width:40rem){dl{grid-template-columns:1fr}}
"""
SCRIPT = """
(function(){'use strict';
var all=[].slice.call(document.querySelectorAll('article')),names=['rule','path','severity'],text=document.getElementById('text'),at=-1;
function shown(){return all.filter(function(a){return !a.hidden})}
function apply(){var word=text.value.toLowerCase();
all.forEach(function(a){a.hidden=names.some(function(n){var v=document.getElementById(n).value;return v&&a.dataset[n]!==v})||(word&&a.textContent.toLowerCase().indexOf(word)<0)});
at=-1;document.getElementById('count').textContent=shown().length+' of '+all.length}
names.forEach(function(n){document.getElementById(n).addEventListener('change',apply)});text.addEventListener('input',apply);
document.getElementById('filters').addEventListener('submit',function(e){e.preventDefault()});
var fold=document.getElementById('fold');fold.addEventListener('click',function(){var open=fold.getAttribute('aria-pressed')==='true';
all.forEach(function(a){a.querySelector('details').open=open});fold.setAttribute('aria-pressed',String(!open));fold.textContent=open?'Fold all':'Unfold all'});
document.addEventListener('keydown',function(e){var field=/INPUT|SELECT/.test(document.activeElement.tagName);
if(e.key==='Escape'){names.forEach(function(n){document.getElementById(n).value=''});text.value='';text.blur();apply();return}
if(field||e.ctrlKey||e.metaKey||e.altKey)return;
if(e.key==='/'){e.preventDefault();text.focus();return}
var list=shown();if(!list.length)return;
if(e.key==='j'||e.key==='k'){at=Math.max(0,Math.min(list.length-1,at+(e.key==='j'?1:-1)));list[at].focus();list[at].scrollIntoView({block:'start'});window.scrollBy(0,-110)}
if(e.key==='Enter'&&at>=0&&document.activeElement===list[at]){var d=list[at].querySelector('details');d.open=!d.open}});
window.addEventListener('beforeprint',function(){all.forEach(function(a){a.querySelector('details').open=true})});apply()})();
"""

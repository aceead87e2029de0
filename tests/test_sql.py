"""SQL text → Statement: exact outcomes, placeholders, holes, hostile text."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest

from noclobber.trace import sql
from noclobber.trace.sql import Expr, ParamRef, looks_like_sql, parse

# One line says everything of a statement that is not at its default: `#` a placeholder, `{0}` a hole, `~` own columns
# read, `new.` the row that INSERT proposes, `?or` a condition that need not hold.


def name(n):
    """('a_', 0) → 'a_{0}'"""
    if n is None:
        return "-"
    return n if isinstance(n, str) else "".join(p if isinstance(p, str) else f"{{{p}}}" for p in n)


def expr(e):
    marks = "".join(f"#{r.name or r.position}" for r in e.refs)
    holes = "".join(f"{{{h}}}" for h in e.holes)
    own = "~" + ",".join(map(name, e.self_columns)) if e.self_columns and e.form not in ("column", "arith") else ""
    body = {
        "param": "",
        "hole": "",
        "literal": repr(e.value),
        "now": "now",
        "case": "case",
        "subquery": "(select)",
        "other": "other",
        "column": (f"{e.table}." if e.table else "") + name(e.column),
        "excluded": "new." + name(e.column),
        "function": e.function + "()",
        "arith": f"{name(e.column)} {e.sign} {expr(e.operand) if e.operand else '…'}" if e.form == "arith" else "",
    }[e.form]
    if e.form == "arith":
        return body
    return body + marks + holes + own


def predicate(p):
    left = (
        ""
        if p.left.form in ("column", "hole")
        else f" <{expr(p.left)}>" if p.op not in ("exists", "not exists") else ""
    )
    qualifier = f"{p.table}." if p.table else ""
    inner = f" {{{summary(p.inner)}}}" if p.inner and p.op in ("exists", "not exists") else ""
    value = "" if p.op in ("true", "false", "exists", "not exists") else " " + expr(p.value)
    marks = (" ?or" if p.in_or else "") + ("" if p.own else " foreign")
    return f"{qualifier}{name(p.column)}{left} {p.op}{value}{inner}{marks}"


def pairs(ps):
    return "[" + ", ".join(f"{name(c)}={expr(e)}" for c, e in ps) + "]"


def conditions(ps):
    return "[" + "; ".join(map(predicate, ps)) + "]"


def summary(s):
    """Everything of a statement that is not at its default, in one line."""
    out = [s.verb + (f"({s.keyword})" if s.verb in ("unread", "other") else "")]
    if s.name:
        out[0] = f"{s.name}:{out[0]}"
    if s.table:
        out.append(name(s.table))
    if s.alias:
        out.append(f"as {s.alias}")
    if s.other_tables:
        out.append("+" + ",".join(map(name, s.other_tables)))
    if s.columns:
        out.append("out" + pairs(s.columns))
    for word in (
        "star",
        "aggregate",
        "exists",
        "distinct",
        "grouped",
        "limit_one",
        "nowait",
        "skip_locked",
        "returning",
        "open_columns",
        "open_sets",
        "open_where",
        "open_tail",
    ):
        if getattr(s, word):
            out.append(word)
    for word in ("lock", "isolation", "mode", "procedure", "conflict"):
        if getattr(s, word):
            out.append(f"{word}={getattr(s, word)}")
    for word in ("lock_of", "advisory", "advisory_unlock", "conflict_keys"):
        if getattr(s, word):
            out.append(f"{word}={','.join(map(name, getattr(s, word)))}")
    if s.rows:
        out.append(f"rows={s.rows}")
    if s.sets:
        out.append("set" + pairs(s.sets))
    if s.conflict_sets:
        out.append("conflict_set" + pairs(s.conflict_sets))
    for word in ("where", "on", "conflict_where"):
        if getattr(s, word):
            out.append(word + conditions(getattr(s, word)))
    out += [f"({summary(i)})" for i in s.inner]
    return " ".join(out)


def template(text):
    """'a {0} b' → ('a ', 0, ' b'); '{{' stands for a brace."""
    parts = [int(p) if i % 2 else p for i, p in enumerate(re.split(r"(?<!\{)\{(\d)\}", text))]
    return tuple(p for p in parts if p != "")


# dialect | statement, then one `=>` for each Statement; indented lines continue the line above.
STATEMENTS = r"""
postgres | UPDATE {0} SET points = :points{1}
=> update {0} open_sets open_where open_tail set[points=#points]

postgres | UPDATE accounts SET {0} = ? WHERE id = ?
=> update accounts set[{0}=#0] where[id = #1]

postgres | UPDATE accounts SET {0} = {0} + ? WHERE {1} = ?
=> update accounts set[{0}={0} + #0] where[{1} = #1]

postgres | UPDATE {0}.acc SET a = 1 WHERE id = 1
=> update {0}.acc set[a=1] where[id = 1]

postgres | UPDATE acc_{0} SET a = 1 WHERE id = 1
=> update acc_{0} set[a=1] where[id = 1]

postgres | UPDATE {0}{1} SET a = 1 WHERE id = 1
=> update {0}{1} set[a=1] where[id = 1]

postgres | SELECT a FROM t WHERE id IN ({0})
=> select t out[a=a] where[id in {0}]

postgres | SELECT a FROM t WHERE id IN {0} ORDER BY {1} {2} LIMIT {3}
=> select t out[a=a] where[id in {0}]

postgres | SELECT a FROM t WHERE id IN %s
=> select t out[a=a] where[id in #0]

postgres | SELECT a FROM t WHERE id = %s{0}
=> select t out[a=a] open_where open_tail where[id = #0]

postgres | SELECT a FROM t{0}
=> select t out[a=a] open_where open_tail

postgres | SELECT a FROM t WHERE id = ? {0}
=> select t out[a=a] open_where open_tail where[id = #0]

postgres | SELECT a FROM t WHERE {0}
=> select t out[a=a] open_where

postgres | SELECT {0} FROM t WHERE id = ? AND {1} FOR UPDATE {2}
=> select t out[-={0}] open_columns open_where lock=update where[id = #0]

postgres | UPDATE t SET {0}
=> update t open_sets open_where open_tail

postgres | UPDATE t SET {0} WHERE {1}
=> update t open_sets open_where

postgres | UPDATE t SET a = ?{0} WHERE id = ?
=> update t open_sets set[a=#0] where[id = #1]

postgres | UPDATE t SET {0} version = version + 1 WHERE id = ?
=> update t open_sets set[version=version + 1] where[id = #0]

postgres | SELECT a FROM t WHERE {0} {1} {2}
=> select t out[a=a] where[{0} ? {2}]

postgres | SELECT a FROM t WHERE age {0} ? AND b = 1
=> select t out[a=a] where[age ? #0; b = 1]

postgres | SELECT a FROM t WHERE age {0} {1}
=> select t out[a=a] where[age ? {1}]

postgres | INSERT INTO t ({0}) VALUES ({1})
=> insert t open_sets rows=1 set[{0}={1}]

postgres | INSERT INTO t {0} VALUES {1}
=> insert t open_sets rows=1 set[-={1}]

postgres | INSERT INTO t (a, b) VALUES %s ON CONFLICT DO NOTHING
=> insert t open_sets conflict=nothing rows=1 set[a=other#0, b=other#0]

postgres | INSERT INTO t (a, b) VALUES %s {0}
=> insert t open_sets open_tail rows=1 set[a=other#0, b=other#0]

postgres | {0} SELECT a FROM t
=> select t out[a=a]

postgres | {0} WHERE id = ?
=> unread(where) open_columns open_sets open_where open_tail

postgres | {0}
=> unread() open_columns open_sets open_where open_tail

postgres | SELECT * FROM (SELECT id FROM jobs WHERE s = 1 FOR UPDATE SKIP LOCKED) x
=> select jobs as x star (select jobs out[id=id] skip_locked lock=update where[s = 1])

postgres | WITH picked AS (SELECT id FROM jobs WHERE state = 'q' LIMIT 1 FOR UPDATE SKIP LOCKED) UPDATE jobs SET
    state = 'r' FROM picked WHERE jobs.id = picked.id RETURNING jobs.*
=> update jobs star returning set[state='r'] where[jobs.id = picked.id] (picked:select jobs out[id=id] limit_one
    skip_locked lock=update where[state = 'q'])

postgres | UPDATE jobs SET state='r' WHERE id = (SELECT id FROM jobs WHERE state='q' ORDER BY id LIMIT 1 FOR
    UPDATE SKIP LOCKED) RETURNING id
=> update jobs out[id=id] returning set[state='r'] where[id = (select)] (select jobs out[id=id] limit_one
    skip_locked lock=update where[state = 'q'])

postgres | SELECT EXISTS(SELECT 1 FROM users WHERE email = %s)
=> select users out[-=other#0] aggregate exists where[email = #0] (select users out[-=1] where[email = #0])

postgres | SELECT COALESCE(MAX(n), 0) + 1 FROM inv WHERE y = ?
=> select inv out[-=other~n] aggregate where[y = #0]

postgres | SELECT COUNT(*) FROM t
=> select t out[-=count()] aggregate

mysql | REPLACE INTO t (a, b) VALUES (?, ?)
=> replace t conflict=replace rows=1 set[a=#0, b=#1]

mysql | INSERT OR REPLACE INTO t (a, b) VALUES (?, ?)
=> replace t conflict=replace rows=1 set[a=#0, b=#1]

sqlite | INSERT OR IGNORE INTO t VALUES (?, ?)
=> insert t conflict=nothing rows=1 set[-=#0, -=#1]

mysql | INSERT IGNORE INTO t (a) VALUES (%s)
=> insert t conflict=nothing rows=1 set[a=#0]

mysql | INSERT INTO t (a, b) VALUES (%s, %s) ON DUPLICATE KEY UPDATE b = VALUES(b), c = c + 1
=> insert t conflict=update rows=1 set[a=#0, b=#1] conflict_set[b=new.b, c=c + 1]

mysql | INSERT INTO t (a, b) VALUES (%s, %s) AS new ON DUPLICATE KEY UPDATE b = new.b
=> insert t conflict=update rows=1 set[a=#0, b=#1] conflict_set[b=new.b]

postgres | INSERT INTO t (a,b) SELECT a, b + 1 FROM s WHERE id = ?
=> insert t +s set[a=a, b=b + 1] (select s out[a=a, -=b + 1] where[id = #0])

oracle | MERGE INTO t USING (SELECT :id AS id, :v AS v FROM dual) s ON (t.id = s.id) WHEN MATCHED THEN UPDATE
    SET t.v = s.v WHERE t.ver = :ver WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)
=> merge t +dual conflict=update conflict_keys=id set[v=#v] where[t.id = #id] conflict_where[t.ver = #ver]
    (select dual out[id=#id, v=#v])

postgres | UPDATE t SET n = v.n FROM (VALUES (%s, %s)) AS v (id, n) WHERE t.id = v.id
=> update t set[n=#1] where[t.id = #0]

postgres | MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.v < s.v THEN UPDATE SET a = s.a WHEN NOT
    MATCHED THEN INSERT (id, a) VALUES (s.id, s.a)
=> merge t +s conflict=update conflict_keys=id set[a=s.a] where[t.id = s.id] conflict_where[t.v < s.v]

mysql | UPDATE a JOIN b ON a.id = b.id SET a.x = %s WHERE b.y = 1
=> update a +b set[x=#0] where[b.y = 1 foreign] on[a.id = b.id]

postgres | UPDATE a SET a.x = ? FROM accounts a JOIN c ON c.id = a.id WHERE c.y = 1
=> update accounts as a +c set[x=#0] where[c.y = 1 foreign] on[a.id = c.id]

postgres | DELETE FROM t USING u WHERE t.id = u.id AND u.x = %s
=> delete t +u where[t.id = u.id; u.x = #0 foreign]

postgres | DELETE t FROM t JOIN u ON t.id = u.id WHERE u.x = %s
=> delete t +u where[u.x = #0 foreign] on[t.id = u.id]

postgres | DELETE t WHERE id = :1
=> delete t where[id = #0]

tsql | SELECT TOP 1 a FROM t WITH (UPDLOCK, ROWLOCK) WHERE id = ?
=> select t out[a=a] limit_one lock=update where[id = #0]

tsql | SELECT a FROM [dbo].[acc] WHERE [id] = ?
=> select dbo.acc out[a=a] where[id = #0]

mysql | SELECT a FROM `t` WHERE `id` = %s LOCK IN SHARE MODE
=> select t out[a=a] lock=share where[id = #0]

postgres | LOCK TABLE a, b IN SHARE ROW EXCLUSIVE MODE NOWAIT
=> lock_table a +b nowait mode=share row exclusive

mysql | LOCK TABLES a WRITE, b READ
=> lock_table a +b mode=write

postgres | BEGIN ISOLATION LEVEL SERIALIZABLE
=> begin isolation=serializable

postgres | START TRANSACTION ISOLATION LEVEL REPEATABLE READ
=> begin isolation=repeatable read

postgres | SET TRANSACTION ISOLATION LEVEL SERIALIZABLE
=> isolation isolation=serializable

postgres | SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE
=> isolation isolation=serializable

postgres | BEGIN; UPDATE t SET a = 1 WHERE id = 2; COMMIT;
=> begin
=> update t set[a=1] where[id = 2]
=> commit

postgres | ROLLBACK TO SAVEPOINT x
=> other(rollback)

postgres | END
=> commit

postgres | CALL charge(%s, 1)
=> call procedure=charge

tsql | EXEC sp_getapplock @Resource = 'x', @LockMode = 'Exclusive'
=> call procedure=sp_getapplock advisory=sp_getapplock

mysql | SELECT GET_LOCK(%s, 10)
=> select out[-=get_lock()#0] advisory=get_lock

postgres | SELECT pg_try_advisory_xact_lock(1, %s) FROM t
=> select t out[-=pg_try_advisory_xact_lock()#0] advisory=pg_try_advisory_xact_lock

postgres | UPDATE t SET a = ? WHERE CURRENT OF c
=> update t open_where set[a=#0]

postgres | UPDATE t SET (a, b) = (?, ?) WHERE (id, version) = (?, ?)
=> update t set[a=#0, b=#1] where[id = #2; version = #3]

postgres | UPDATE t SET a = ? WHERE id = ? AND (version = ? OR version IS NULL)
=> update t set[a=#0] where[id = #1; version = #2 ?or; version is None ?or]

postgres | UPDATE t SET a = ? WHERE id = ? AND NOT locked AND active AND x IS NOT NULL AND y NOT IN (1, 2) AND z
    BETWEEN ? AND ?
=> update t set[a=#0] where[id = #1; locked false; active true; x is not None; y not in other; z between
    other#2#3]

postgres | UPDATE t SET a = %s WHERE id = ANY(%s) AND b IS NOT DISTINCT FROM %s AND ? < c
=> update t set[a=#0] where[id in #1; b = #2; c > other]

postgres | UPDATE t SET n = ? + n, m = coalesce(m, 0) + ?, k = k - 1, s = s || ?, j = jsonb_set(j, '{{a}}',
    ?::jsonb), d = datetime('now'), e = CASE WHEN e > 1 THEN 2 END, f = (SELECT max(x) FROM u), g = NOW(), h =
    NULL, i = -1, l = TRUE
=> update t +u set[n=n + #0, m=m + #1, k=k - 1, s=s || #2, j=jsonb_set()#3~j, d=now, e=case~e, f=(select),
    g=now, h=None, i=-1, l=True] (select u out[-=max()~x] aggregate)

postgres | SELECT data ? 'k', data ?| array['a'] FROM t WHERE id = $1
=> select t out[-=other~data, -=other~data] where[id = #0]

postgres | SELECT a::text FROM t WHERE b = :b::int AND c = $$ ? :x $$
=> select t out[a=a] where[b = #b; c = ' ? :x ']

postgres | UPDATE t SET a = a {0} ? WHERE id = ?
=> update t set[a=a ? #0] where[id = #1]

postgres | UPDATE ONLY t SET a = 1
=> update t set[a=1]

postgres | SELECT a FROM ONLY t
=> select t out[a=a]

postgres | UPDATE LOW_PRIORITY IGNORE t SET a = 1 WHERE id = 1
=> update t set[a=1] where[id = 1]

postgres | UPDATE OR IGNORE t SET a = 1
=> update t set[a=1]

oracle | UPDATE t SET a = :v WHERE id = :id RETURNING a INTO :out
=> update t out[a=a] returning set[a=#v] where[id = #id]

postgres | INSERT INTO t (a) VALUES (?), (?), (?)
=> insert t rows=3 set[a=#0]

postgres | INSERT INTO t DEFAULT VALUES
=> insert t

postgres | SELECT a FROM t UNION ALL SELECT b FROM u
=> select t +u out[a=a] (select t out[a=a]) (select u out[b=b])

postgres | (SELECT a FROM t WHERE id = ? FOR UPDATE)
=> select t out[a=a] lock=update where[id = #0]

postgres | SELECT a, b AS c, t.* FROM t AS x WHERE x.id = ? FOR SHARE OF x NOWAIT
=> select t as x out[a=a, c=b] star nowait lock=share lock_of=x where[x.id = #0]

postgres | COPY t FROM STDIN
=> other(copy)

postgres | DO $$ BEGIN UPDATE t SET a = 1; END $$
=> other(do)

tsql | DECLARE @x int
=> other(declare)

postgres | UPDATE t SET '{0}' = 1
=> update t set[{0}=1]

postgres | UPDATE t SET a = '{0}' WHERE id = '{1}' AND b = 'x{2}'
=> update t set[a={0}] where[id = {1}; b = other{2}]

postgres | UPDATE "{0}" SET "{1}" = ? WHERE "{2}" = ?
=> update {0} set[{1}=#0] where[{2} = #1]

postgres | SELECT a FROM t WHERE id = ${0}
=> select t out[a=a] where[id = #-1]

postgres | SELECT a FROM t WHERE id = :{0} AND b = %({1})s
=> select t out[a=a] where[id = #0; b = #1]

postgres | SELECT DISTINCT a, b FROM t GROUP BY a
=> select t out[a=a, b=b] distinct grouped

postgres | UPSERT INTO t (a) VALUES ($1)
=> replace t conflict=replace rows=1 set[a=#0]

postgres | UPDATE t
=> unread(update) t

postgres | UPDATE the ticket
=> unread(update) the

postgres | WITH x AS (SELECT 1) SELECT * FROM x
=> select as x star (x:select out[-=1])

postgres | INSERT INTO t (a) VALUES (1) ON CONFLICT ON CONSTRAINT uq DO UPDATE SET a = t.a + excluded.a WHERE
    t.version < excluded.version
=> insert t conflict=update rows=1 set[a=1] conflict_set[a=a + new.a] conflict_where[t.version < new.version]

postgres | BEGIN UPDATE t SET a = 1 WHERE id = :1; COMMIT; END;
=> update t set[a=1] where[id = #0]
=> commit

tsql | SELECT a FROM t WHERE id = @id
=> select t out[a=a] where[id = other]

postgres | SELECT {0} a, b FROM t
=> select t out[a=a, b=b]

postgres | SELECT a FROM t {0} WHERE {0}.id = ?
=> select t as __h0__ out[a=a] where[__h0__.id = #0]

postgres | SELECT a FROM {0} WHERE {1} ORDER BY x {2}
=> select {0} out[a=a] open_where open_tail

postgres | UPDATE t SET a = func({0}, ?) WHERE b > {0}
=> update t set[a=func()#0{0}] where[b > {0}]

postgres | SELECT a FROM t WHERE ts > now() - interval '5 minutes' AND now() > exp
=> select t out[a=a] where[ts > now; exp < now]
"""

# The statements of the seeds and of the cases made from them.
SEEDS = r"""
postgres | SELECT pg_advisory_xact_lock(%s)
=> select out[-=pg_advisory_xact_lock()#0] advisory=pg_advisory_xact_lock

sqlite | UPDATE days SET lunch = coalesce(?, lunch), dinner = coalesce(?, dinner), version = version + 1 WHERE
    day = ? AND version = ?
=> update days set[lunch=coalesce()#0~lunch, dinner=coalesce()#1~dinner, version=version + 1] where[day = #2;
    version = #3]

sqlite | SELECT rowid, title, snippet(pages_fts, 1, '', '', '…', 12) FROM pages_fts WHERE pages_fts MATCH ?
    LIMIT ?
=> select pages_fts out[rowid=rowid, title=title, -=snippet()~pages_fts] where[pages_fts match #0]

postgres | WITH book AS (UPDATE runbooks SET version = version + 1 WHERE slug = %s AND version = %s RETURNING
    id, version) UPDATE steps s SET text = %s FROM book WHERE s.runbook_id = book.id AND s.number = %s RETURNING
    book.version
=> update steps as s +runbooks out[version=book.version] returning set[text=#2] where[s.runbook_id = book.id;
    s.number = #3] (book:update runbooks out[id=id, version=version] returning set[version=version + 1]
    where[slug = #0; version = #1])

sqlite | UPDATE prompts SET body = ?, version = version + 1 WHERE id = ?
=> update prompts set[body=#0, version=version + 1] where[id = #1]

sqlite | SELECT version FROM prompts WHERE id = ?
=> select prompts out[version=version] where[id = #0]

sqlite | UPDATE prompts SET body = ? WHERE id = ?
=> update prompts set[body=#0] where[id = #1]

sqlite | SELECT body FROM prompts WHERE id = ?
=> select prompts out[body=body] where[id = #0]

sqlite | UPDATE prompts SET body = ?, sha256 = ?, version = version + 1 WHERE id = ? AND version = ?
=> update prompts set[body=#0, sha256=#1, version=version + 1] where[id = #2; version = #3]

sqlite | UPDATE prompts SET body = ?, sha256 = ?, version = version + 1 WHERE id = ? AND sha256 = ?
=> update prompts set[body=#0, sha256=#1, version=version + 1] where[id = #2; sha256 = #3]

sqlite | UPDATE prompts SET body = ?, version = ? WHERE id = ? AND version = ?
=> update prompts set[body=#0, version=#1] where[id = #2; version = #3]

sqlite | SELECT version, edited_by FROM prompts WHERE id = ?
=> select prompts out[version=version, edited_by=edited_by] where[id = #0]

postgres | SELECT state, version FROM agent_runs WHERE id = %s
=> select agent_runs out[state=state, version=version] where[id = #0]

postgres | UPDATE agent_runs SET state = %s, version = version + 1 WHERE id = %s AND version = %s RETURNING
    version
=> update agent_runs out[version=version] returning set[state=#0, version=version + 1] where[id = #1; version =
    #2]

sqlite | UPDATE agent_runs SET state = ?, version = version + 1 WHERE id = ? AND version = ?
=> update agent_runs set[state=#0, version=version + 1] where[id = #1; version = #2]

sqlite | SELECT state, version FROM agent_runs WHERE id = ?
=> select agent_runs out[state=state, version=version] where[id = #0]

sqlite | UPDATE approvals SET state = ?, version = version + 1 WHERE id = ? AND version = ?
=> update approvals set[state=#0, version=version + 1] where[id = #1; version = #2]

sqlite | SELECT state, version FROM approvals WHERE id = ?
=> select approvals out[state=state, version=version] where[id = #0]

sqlite | INSERT INTO applied_events (event_id, run_id) VALUES (?, ?)
=> insert applied_events rows=1 set[event_id=#0, run_id=#1]

sqlite | SELECT 1 FROM applied_events WHERE event_id = ?
=> select applied_events out[-=1] where[event_id = #0]

sqlite | INSERT INTO applied_events (event_id, run_id, outcome) VALUES (?, ?, ?)
=> insert applied_events rows=1 set[event_id=#0, run_id=#1, outcome=#2]

sqlite | SELECT outcome FROM applied_events WHERE event_id = ?
=> select applied_events out[outcome=outcome] where[event_id = #0]

sqlite | UPDATE usage SET tokens = ? WHERE client = ?
=> update usage set[tokens=#0] where[client = #1]

sqlite | UPDATE usage SET limits = ?, version = version + 1 WHERE client = ? AND version = ?
=> update usage set[limits=#0, version=version + 1] where[client = #1; version = #2]

sqlite | SELECT limits, version FROM usage WHERE client = ?
=> select usage out[limits=limits, version=version] where[client = #0]

sqlite | SELECT tokens FROM usage WHERE client = ?
=> select usage out[tokens=tokens] where[client = #0]

sqlite | UPDATE usage SET tokens = tokens + ? WHERE client = ? RETURNING tokens
=> update usage out[tokens=tokens] returning set[tokens=tokens + #0] where[client = #1]

postgres | SELECT DISTINCT actor FROM audit_log
=> select audit_log out[actor=actor] distinct

sqlite | INSERT INTO audit_log (actor, action, nth) VALUES (?, ?, ?)
=> insert audit_log rows=1 set[actor=#0, action=#1, nth=#2]

postgres | SELECT client, limits FROM usage
=> select usage out[client=client, limits=limits]

sqlite | SELECT count(*) FROM audit_log WHERE actor = ?
=> select audit_log out[-=count()] aggregate where[actor = #0]

postgres | UPDATE accounts SET balance = balance - :amount WHERE id = :id AND balance - :amount >= 0
=> update accounts set[balance=balance - #amount] where[id = #id; balance <balance - #amount> >= 0]

postgres | UPDATE accounts SET balance = balance + :delta WHERE id = :id AND balance + :delta >= 0 RETURNING
    balance
=> update accounts out[balance=balance] returning set[balance=balance + #delta] where[id = #id; balance <balance
    + #delta> >= 0]

sqlite | UPDATE accounts SET balance = balance + balance * ? / 1000
=> update accounts set[balance=balance + balance * …]

sqlite | UPDATE "{0}" SET payload = ?, version = ? WHERE id = ? AND version = ?
=> update {0} set[payload=#0, version=#1] where[id = #2; version = #3]

sqlite | SELECT payload, version FROM "{0}" WHERE id = ?
=> select {0} out[payload=payload, version=version] where[id = #0]

sqlite | UPDATE orders SET payload = ?, version = ? WHERE id = ? AND version = ?
=> update orders set[payload=#0, version=#1] where[id = #2; version = #3]

sqlite | SELECT payload, version FROM orders WHERE id = ?
=> select orders out[payload=payload, version=version] where[id = #0]

postgres | UPDATE crm_customers SET plan = %s, charge_id = %s, version = version + 1 WHERE id = %s AND version =
    %s
=> update crm_customers set[plan=#0, charge_id=#1, version=version + 1] where[id = #2; version = #3]

postgres | UPDATE orders SET status = 'shipped' WHERE id = %s AND status = 'packed'
=> update orders set[status='shipped'] where[id = #0; status = 'packed']

postgres | INSERT INTO labels (order_id, label) VALUES (%s, %s)
=> insert labels rows=1 set[order_id=#0, label=#1]

postgres | SELECT seats, version FROM crm_customers WHERE id = %s
=> select crm_customers out[seats=seats, version=version] where[id = #0]

postgres | UPDATE crm_customers SET plan = pending_plan, charge_id = %s, pending_plan = NULL, pending_key =
    NULL, version = version + 1 WHERE id = %s AND pending_key = %s
=> update crm_customers set[plan=pending_plan, charge_id=#0, pending_plan=None, pending_key=None,
    version=version + 1] where[id = #1; pending_key = #2]

postgres | UPDATE crm_customers SET pending_plan = %s, pending_key = %s, pending_cents = %s, version = version +
    1 WHERE id = %s AND version = %s AND pending_key IS NULL
=> update crm_customers set[pending_plan=#0, pending_key=#1, pending_cents=#2, version=version + 1] where[id =
    #3; version = #4; pending_key is None]

postgres | SELECT version FROM crm_customers WHERE id = %s
=> select crm_customers out[version=version] where[id = #0]

postgres | CREATE TABLE IF NOT EXISTS intents ( seq INTEGER PRIMARY KEY, ticket_id TEXT NOT NULL, actor TEXT NOT
    NULL, action TEXT NOT NULL, value TEXT, rationale_code TEXT NOT NULL, at REAL NOT NULL); CREATE TABLE IF NOT
    EXISTS ticket_view (ticket_id TEXT PRIMARY KEY, state TEXT NOT NULL, last_seq INTEGER NOT NULL);
=> other(create)
=> other(create)

sqlite | INSERT INTO intents (ticket_id, actor, action, value, rationale_code, at) VALUES (?, ?, ?, ?, ?, ?)
=> insert intents rows=1 set[ticket_id=#0, actor=#1, action=#2, value=#3, rationale_code=#4, at=#5]

sqlite | INSERT INTO ticket_view (ticket_id, state, last_seq) VALUES (?, ?, ?) ON CONFLICT (ticket_id) DO UPDATE
    SET state = excluded.state, last_seq = excluded.last_seq WHERE excluded.last_seq > ticket_view.last_seq
=> insert ticket_view conflict=update conflict_keys=ticket_id rows=1 set[ticket_id=#0, state=#1, last_seq=#2]
    conflict_set[state=new.state, last_seq=new.last_seq] conflict_where[ticket_view.last_seq < new.last_seq]

sqlite | SELECT actor, action, value, rationale_code, at, seq FROM intents WHERE ticket_id = ? ORDER BY seq
=> select intents out[actor=actor, action=action, value=value, rationale_code=rationale_code, at=at, seq=seq]
    where[ticket_id = #0]

postgres | INSERT INTO record_leases (record_id, holder, fencing_token, expires_at) VALUES (%s, %s,
    nextval('lease_fence'), now() + interval '45 seconds') ON CONFLICT (record_id) DO UPDATE SET holder =
    EXCLUDED.holder, fencing_token = EXCLUDED.fencing_token, expires_at = EXCLUDED.expires_at WHERE
    record_leases.expires_at < now() RETURNING fencing_token
=> insert record_leases out[fencing_token=fencing_token] returning conflict=update conflict_keys=record_id
    rows=1 set[record_id=#0, holder=#1, fencing_token=nextval(), expires_at=now] conflict_set[holder=new.holder,
    fencing_token=new.fencing_token, expires_at=new.expires_at] conflict_where[record_leases.expires_at < now]

postgres | UPDATE invoices SET status = 'paid', paid_at = now() WHERE id = %s
=> update invoices set[status='paid', paid_at=now] where[id = #0]

postgres | UPDATE record_leases SET holder = %s, fencing_token = nextval('lease_fence'), expires_at = now() +
    interval '45 seconds' WHERE record_id = %s
=> update record_leases set[holder=#0, fencing_token=nextval(), expires_at=now] where[record_id = #1]

postgres | SELECT expires_at < now() FROM record_leases WHERE record_id = %s
=> select record_leases out[-=other~expires_at] where[record_id = #0]

postgres | UPDATE invoices SET status = 'paid', version = version + 1 WHERE id = %(id)s AND version =
    %(version)s AND EXISTS ( SELECT 1 FROM record_leases l WHERE l.record_id = %(id)s AND l.fencing_token =
    %(token)s AND l.expires_at > now() )
=> update invoices +record_leases set[status='paid', version=version + 1] where[id = #id; version = #version; -
    exists {select record_leases as l out[-=1] where[l.record_id = #id; l.fencing_token = #token; l.expires_at >
    now]} foreign] (select record_leases as l out[-=1] where[l.record_id = #id; l.fencing_token = #token;
    l.expires_at > now])

postgres | UPDATE invoices SET status = 'paid', fence = %s WHERE id = %s AND fence < %s
=> update invoices set[status='paid', fence=#0] where[id = #1; fence < #2]

postgres | UPDATE tickets SET drafts = %s WHERE id = %s
=> update tickets set[drafts=#0] where[id = #1]

postgres | SELECT thread, drafts FROM tickets WHERE id = %s FOR UPDATE
=> select tickets out[thread=thread, drafts=drafts] lock=update where[id = #0]

postgres | UPDATE tickets SET drafts = %s, version = version + 1 WHERE id = %s AND version = %s
=> update tickets set[drafts=#0, version=version + 1] where[id = #1; version = #2]

postgres | SELECT thread, drafts, version FROM tickets WHERE id = %s
=> select tickets out[thread=thread, drafts=drafts, version=version] where[id = #0]

postgres | SELECT drafts FROM tickets WHERE id = %s FOR UPDATE
=> select tickets out[drafts=drafts] lock=update where[id = #0]

sqlite | UPDATE stock SET available = available - 1 WHERE sku = ?
=> update stock set[available=available - 1] where[sku = #0]

sqlite | INSERT INTO reservations (order_id, sku) VALUES (?, ?)
=> insert reservations rows=1 set[order_id=#0, sku=#1]

sqlite | SELECT available FROM stock WHERE sku = ?
=> select stock out[available=available] where[sku = #0]

sqlite | UPDATE stock SET available = available - 1 WHERE sku = ? AND available >= 1
=> update stock set[available=available - 1] where[sku = #0; available >= 1]

sqlite | DELETE FROM reservations WHERE order_id = ? AND sku = ?
=> delete reservations where[order_id = #0; sku = #1]

sqlite | UPDATE stock SET available = available + 1 WHERE sku = ?
=> update stock set[available=available + 1] where[sku = #0]

postgres | CREATE TABLE IF NOT EXISTS tickets ( id text PRIMARY KEY, title text, status text, category text,
    assignee_id text, summary text, version bigint NOT NULL DEFAULT 1)
=> other(create)

postgres | UPDATE tickets SET title = %(title)s, status = %(status)s, category = %(category)s, assignee_id =
    %(assignee_id)s, summary = %(summary)s, version = version + 1 WHERE id = %(id)s
=> update tickets set[title=#title, status=#status, category=#category, assignee_id=#assignee_id,
    summary=#summary, version=version + 1] where[id = #id]

postgres | SELECT title, status, category, assignee_id, summary FROM tickets WHERE id = %s
=> select tickets out[title=title, status=status, category=category, assignee_id=assignee_id, summary=summary]
    where[id = #0]

postgres | SELECT title, status, category, assignee_id, summary, version FROM tickets WHERE id = %s
=> select tickets out[title=title, status=status, category=category, assignee_id=assignee_id, summary=summary,
    version=version] where[id = #0]

postgres | UPDATE tickets SET {0}, version = version + 1 WHERE id = %(id)s AND version = %(seen)s RETURNING
    version
=> update tickets out[version=version] returning open_sets set[version=version + 1] where[id = #id; version =
    #seen]

postgres | INSERT INTO comments (ticket_id, run_id, body) VALUES (%s, %s, %s) ON CONFLICT (ticket_id, run_id,
    body) DO UPDATE SET run_id = EXCLUDED.run_id RETURNING id
=> insert comments out[id=id] returning conflict=update conflict_keys=ticket_id,run_id,body rows=1
    set[ticket_id=#0, run_id=#1, body=#2] conflict_set[run_id=new.run_id]

postgres | UPDATE tickets SET priority = greatest(priority, %s), version = version + 1 WHERE id = %s RETURNING
    priority, version
=> update tickets out[priority=priority, version=version] returning set[priority=greatest()#0~priority,
    version=version + 1] where[id = #1]

postgres | SELECT * FROM tickets WHERE id = %s
=> select tickets star where[id = #0]

postgres | UPDATE tickets SET {0}, version = version + 1 WHERE id = %(ticket_id)s AND version = %(version)s
    RETURNING version
=> update tickets out[version=version] returning open_sets set[version=version + 1] where[id = #ticket_id;
    version = #version]

postgres | UPDATE tickets SET {0}, version = version + 1 WHERE id = %(ticket_id)s AND version = %(seen)s
    RETURNING version
=> update tickets out[version=version] returning open_sets set[version=version + 1] where[id = #ticket_id;
    version = #seen]

postgres | SELECT used_minutes, max_minutes FROM render_plans WHERE tenant = $1
=> select render_plans out[used_minutes=used_minutes, max_minutes=max_minutes] where[tenant = #0]

postgres | UPDATE render_plans SET used_minutes = $2, last_spend_at = now() WHERE tenant = $1
=> update render_plans set[used_minutes=#1, last_spend_at=now] where[tenant = #0]

postgres | UPDATE render_plans SET used_minutes = used_minutes + $2, last_spend_at = now() WHERE tenant = $1 AND
    used_minutes + $2 <= max_minutes RETURNING max_minutes - used_minutes
=> update render_plans out[-=max_minutes - used_minutes] returning set[used_minutes=used_minutes + #1,
    last_spend_at=now] where[tenant = #0; used_minutes <used_minutes + #1> <= max_minutes]

postgres | SELECT max_minutes - used_minutes FROM render_plans WHERE tenant = $1
=> select render_plans out[-=max_minutes - used_minutes] where[tenant = #0]

postgres | SELECT id, attempts FROM render_jobs WHERE state = 'queued' ORDER BY priority DESC, id LIMIT $1 FOR
    UPDATE SKIP LOCKED
=> select render_jobs out[id=id, attempts=attempts] skip_locked lock=update where[state = 'queued']

postgres | UPDATE render_jobs SET state = 'running', owner = $2, attempts = $3 WHERE id = $1
=> update render_jobs set[state='running', owner=#1, attempts=#2] where[id = #0]

postgres | SELECT points FROM {0}{1}
=> select {0} out[points=points] open_where open_tail

postgres | SELECT points FROM {0}{1} FOR UPDATE
=> select {0} out[points=points] open_where open_tail lock=update

postgres | SELECT on_hand FROM {0} {1}
=> select {0} out[on_hand=on_hand] open_where open_tail

postgres | SELECT on_hand FROM {0} {1} FOR UPDATE
=> select {0} out[on_hand=on_hand] open_where open_tail lock=update

postgres | SELECT slots, occupied FROM wms.racks WHERE rack_id = %s
=> select wms.racks out[slots=slots, occupied=occupied] where[rack_id = #0]

postgres | UPDATE wms.racks SET slots = %s WHERE rack_id = %s
=> update wms.racks set[slots=#0] where[rack_id = #1]

sqlite | UPDATE sites SET doc = json_insert(json_insert(doc, '$.sightings', json('[]')), '$.sightings[#]',
    json(?)) WHERE id = ? AND coalesce(json_array_length(doc, '$.sightings'), 0) <= 500
=> update sites set[doc=json_insert()#0~doc] where[id = #1; doc <coalesce()~doc> <= 500]

sqlite | SELECT json_array_length(doc, '$.sightings') FROM sites WHERE id = ?
=> select sites out[-=json_array_length()~doc] where[id = #0]

postgres | SELECT pg_advisory_xact_lock(hashtext(:name))
=> select out[-=pg_advisory_xact_lock()#name] advisory=pg_advisory_xact_lock

- | UPDATE agent_runs SET state = :candidate, version = version + 1 WHERE id = :run_id AND version =
    :version_read;
=> update agent_runs set[state=#candidate, version=version + 1] where[id = #run_id; version = #version_read]

postgres | UPDATE tickets SET status = $1, assignee_id = $2, version = version + 1, updated_at = now() WHERE id
    = $3 AND version = $4 RETURNING version, status, assignee_id, updated_at;
=> update tickets out[version=version, status=status, assignee_id=assignee_id, updated_at=updated_at] returning
    set[status=#0, assignee_id=#1, version=version + 1, updated_at=now] where[id = #2; version = #3]

postgres | UPDATE tickets SET {0}, version = version + 1, updated_at = now() WHERE id = %s AND version = %s
    RETURNING version, status, assignee_id
=> update tickets out[version=version, status=status, assignee_id=assignee_id] returning open_sets
    set[version=version + 1, updated_at=now] where[id = #0; version = #1]

postgres | INSERT INTO record_leases (record_id, holder, fencing_token, expires_at) VALUES ($1, $2,
    nextval('lease_fence'), now() + interval '45 seconds') ON CONFLICT (record_id) DO UPDATE SET holder =
    EXCLUDED.holder, fencing_token = EXCLUDED.fencing_token, expires_at = EXCLUDED.expires_at WHERE
    record_leases.expires_at < now() RETURNING fencing_token;
=> insert record_leases out[fencing_token=fencing_token] returning conflict=update conflict_keys=record_id
    rows=1 set[record_id=#0, holder=#1, fencing_token=nextval(), expires_at=now] conflict_set[holder=new.holder,
    fencing_token=new.fencing_token, expires_at=new.expires_at] conflict_where[record_leases.expires_at < now]

postgres | UPDATE invoices SET status = 'paid', version = version + 1 WHERE id = $1 AND version = $2 AND EXISTS
    ( SELECT 1 FROM record_leases l WHERE l.record_id = $1 AND l.fencing_token = $3 AND l.expires_at > now() );
=> update invoices +record_leases set[status='paid', version=version + 1] where[id = #0; version = #1; - exists
    {select record_leases as l out[-=1] where[l.record_id = #0; l.fencing_token = #2; l.expires_at > now]}
    foreign] (select record_leases as l out[-=1] where[l.record_id = #0; l.fencing_token = #2; l.expires_at >
    now])
"""


def cases(table):
    for block in table.strip().split("\n\n"):
        lines = re.sub(r"\n    ", " ", block).split("\n")
        dialect, _, text = lines[0].partition(" | ")
        yield pytest.param(
            None if dialect == "-" else dialect, text, [line.removeprefix("=> ") for line in lines[1:]], id=text[:60]
        )


@pytest.mark.parametrize(("dialect", "text", "expected"), [*cases(STATEMENTS), *cases(SEEDS)])
def test_statement(dialect, text, expected):
    found = parse(template(text), dialect)
    assert [summary(s) for s in found] == expected


@pytest.mark.parametrize(("dialect", "text", "expected"), [*cases(SEEDS)])
def test_seed_is_read_alike_without_the_dialect(dialect, text, expected):
    assert [summary(s) for s in parse(template(text), None)] == expected


def only(text, dialect=None):
    (statement,) = parse(template(text) if isinstance(text, str) else text, dialect)
    return statement


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t WHERE b = ? AND c = ?", [(0, None, "qmark"), (1, None, "qmark")]),
        ("SELECT a FROM t WHERE b = %s AND c = %s", [(0, None, "format"), (1, None, "format")]),
        ("SELECT a FROM t WHERE b = %(x)s AND c = %(y)s", [(0, "x", "pyformat"), (1, "y", "pyformat")]),
        ("SELECT a FROM t WHERE b = :x AND c = :x", [(0, "x", "named"), (1, "x", "named")]),
        ("SELECT a FROM t WHERE b = $2 AND c = $1", [(1, None, "numeric"), (0, None, "numeric")]),
        ("SELECT a FROM t WHERE b = :2 AND c = :1", [(1, None, "numeric"), (0, None, "numeric")]),
        ("SELECT a FROM t WHERE b = ?2 AND c = ?1", [(1, None, "numeric"), (0, None, "numeric")]),
        ("SELECT a FROM t WHERE b = '?' AND c = \"?\" AND d = ?", [(0, None, "qmark")]),
        ("SELECT a /* ? :x */ FROM t -- %s ?\n WHERE b = ?", [(0, None, "qmark")]),
        ("SELECT a /* /* ? */ ? */ FROM t WHERE b = ?", [(0, None, "qmark")]),
        ("SELECT a FROM t WHERE b = $$ ? $$ AND c = $x$ :y $x$ AND d = $1", [(0, None, "numeric")]),
        ("SELECT a::text FROM t WHERE b = :b::int", [(0, "b", "named")]),
        ("SELECT a FROM t WHERE b %% 2 = 0 AND c LIKE 'x%%' AND d = %s", [(0, None, "format")]),
        ("SELECT size %size FROM t", []),
        ("SELECT a FROM t WHERE data ? 'k' AND id = $1", [(0, None, "numeric")]),
        ("SELECT a FROM t WHERE data ? 'k' AND id = ?", [(0, None, "qmark")]),
        ("SELECT a FROM t WHERE data ?| array['k'] AND data ?& array['l'] AND id = %s", [(0, None, "format")]),
        ("SELECT a[1:2] FROM t WHERE b = :1", [(0, None, "numeric")]),
        ("SELECT a FROM t WHERE id = %s{0}", [(0, None, "format")]),
        ("SELECT a FROM t WHERE id = :id{0}", [(0, "id", "named")]),
        (
            "SELECT a FROM t WHERE id = :{0} AND b = %({1})s AND c = ${2}",
            [(0, None, "hole"), (1, None, "hole"), (-1, None, "hole")],
        ),
    ],
)
def test_placeholders(text, expected):
    statement = only(text)
    assert statement.verb == "select"
    assert statement.params == tuple(ParamRef(*p) for p in expected)


def test_sqlite_names_and_positions_over_several_statements():
    assert only("SELECT a FROM t WHERE b = @x AND c = $y", "sqlite").params == (
        ParamRef(0, "x", "named"),
        ParamRef(1, "y", "named"),
    )
    _, second = parse("UPDATE t SET a = ? WHERE b = ?; DELETE FROM u WHERE c = ?")
    assert second.params == (ParamRef(2, None, "qmark"),)


def test_expressions_by_hand():
    statement = only("UPDATE t SET n = n + ?, a = :x, b = 'v', c = excluded.c, d = now() WHERE id = 1")
    n = statement.assigns("n")
    assert (n.form, n.column, n.sign, n.params, n.self_columns) == ("arith", "n", "+", (0,), ("n",))
    assert n.operand == Expr("param", refs=(ParamRef(0, None, "qmark"),))
    assert statement.assigns("a").names == ("x",)
    assert statement.assigns("b") == Expr("literal", value="v")
    assert statement.assigns("c").form == "excluded" and statement.assigns("c").self_columns == ()
    assert statement.assigns("d").form == "now"
    assert statement.assigns("zzz") is None
    assert statement.is_open is False and statement.writes is True
    assert statement.tables == (("t",),)


def test_questions():
    statement = only(
        "UPDATE t SET a = ?, version = version + 1 WHERE tenant = ? AND id = ? AND version = ? AND (x = 1 OR y = 2)"
    )
    columns = lambda ps: [p.column for p in ps]  # noqa: E731
    assert columns(statement.key_predicates()) == ["tenant", "id"]
    assert columns(statement.guard_predicates()) == ["version"]
    assert statement.predicate_on("version").value.params == (3,)
    assert statement.predicate_on("x").in_or is True and statement.predicate_on("q") is None
    unbumped = only("UPDATE t SET a = ? WHERE id = ? AND rev = ?")
    assert columns(unbumped.key_predicates()) == ["id", "rev"]
    assert columns(unbumped.key_predicates(lambda c: c == "rev")) == ["id"]
    assert columns(unbumped.guard_predicates(lambda c: c == "rev")) == ["rev"]
    bounded = only("UPDATE s SET used = used + ? WHERE id = ? AND used + ? <= cap")
    assert columns(bounded.guard_predicates()) == ["used"]


def test_upserts_say_what_they_overwrite():
    upsert = only(
        "INSERT INTO t (id, v) VALUES (?, ?)"
        " ON CONFLICT (id) DO UPDATE SET v = excluded.v WHERE t.version < excluded.version"
    )
    assert [c for c, _ in upsert.overwrites] == ["v"]
    assert upsert.assigns("v").form == "excluded" and upsert.assigns("id").params == (0,)
    assert upsert.predicate_on("version").op == "<"
    assert only("INSERT INTO t (id) VALUES (?) ON CONFLICT DO NOTHING").overwrites == ()
    assert [c for c, _ in only("REPLACE INTO t (id, v) VALUES (?, ?)").overwrites] == ["id", "v"]


def test_inner_statements_are_visible():
    statement = only(
        "WITH picked AS (SELECT id FROM jobs WHERE state = 'q' LIMIT 1 FOR UPDATE SKIP LOCKED)"
        " UPDATE runs SET state = 'r' FROM picked WHERE runs.job = picked.id"
    )
    assert statement.strongest_lock() == "update" and statement.lock == ""
    assert [s.verb for s in statement.walk()] == ["update", "select"]
    assert statement.other_tables == (("jobs",),)
    fenced = only(
        "UPDATE inv SET s = 1 WHERE id = ? AND EXISTS (SELECT 1 FROM leases l WHERE l.id = ? AND l.token = ?)"
    )
    inner = fenced.where[1].inner
    assert (fenced.where[1].op, inner.table, inner.predicate_on("token").value.params) == ("exists", ("leases",), (2,))


def test_advisory_locks_and_their_keys():
    statement = only("SELECT pg_advisory_xact_lock(%s)")
    assert statement.advisory == ("pg_advisory_xact_lock",) and statement.advisory_key.params == (0,)
    assert only("SELECT pg_advisory_unlock(1)").advisory_unlock == ("pg_advisory_unlock",)
    assert only("SELECT RELEASE_LOCK('x')", "mysql").advisory_unlock == ("release_lock",)
    assert only("SELECT 'pg_advisory_lock'").advisory == ()


@pytest.mark.parametrize(
    ("text", "verb", "keyword", "table"),
    [
        ("UPDATE t SET a = , WHERE id = ?", "unread", "update", ("t",)),
        ("UPDATE t", "unread", "update", ("t",)),
        ("SELECT a FROM s.t WHERE (((", "unread", "select", ("s.t",)),
        ("DELETE FROM t WHERE WHERE", "unread", "delete", ("t",)),
        ("INSERT INTO t (a VALUES (1", "unread", "insert", ("t",)),
        ("SELECT a FROM t WHERE b = 'unclosed", "unread", "select", ("t",)),
        ("WITH x AS (SELECT UPDATE t SET a = 1", "unread", "with", ()),
        ("MERGE INTO t USING", "unread", "merge", ("t",)),
    ],
)
def test_broken_sql(text, verb, keyword, table):
    (statement,) = parse(text)
    assert (statement.verb, statement.keyword, statement.table) == (verb, keyword, table)


def test_unread_keeps_what_tokens_show():
    statement = only("UPDATE t SET a = ?, b = 2 WHERE id = ? AND v = ? FROBNICATE ((( ")
    assert statement.verb == "unread" and statement.writes
    assert [(c, e.form) for c, e in statement.sets] == [("a", "param"), ("b", "literal")]
    assert [p.column for p in statement.where] == ["id", "v"]
    assert only("SELECT a FROM t WHERE id = ? FOR UPDATE FROBNICATE (((").lock == "update"


@pytest.mark.parametrize(
    "text",
    [
        "updated_at",
        "locks",
        "merge-base",
        "UPDATED_NEW",
        "BEGIN:VCALENDAR\nEND:VCALENDAR",
        "Replace a page with the given title.",
        "Lock of one scan target",
        "Create-if-absent: losing the race",
        "hello",
        "/etc/passwd",
        '{"a": 1}',
        "insert a coin",
        "(",
        "*",
        "commit your work",
        "Set the value",
        "begin at the start",
        "end of file",
    ],
)
def test_no_sql(text):
    assert looks_like_sql(text) is False
    assert [s.verb for s in parse(text)] == ["other"]


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "  -- x\n SELECT 1",
        "/* a */ UPDATE t SET a = 1",
        "((SELECT 1))",
        "BEGIN",
        "begin immediate",
        "START TRANSACTION",
        "END;",
        "COMMIT;",
        "ROLLBACK TO x",
        "LOCK TABLE t",
        "LOCK t IN SHARE MODE",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        "SET x = 1",
        "PRAGMA journal_mode",
        "CREATE TABLE t (a int)",
        "DROP TABLE t",
        "TRUNCATE t",
        "COPY t FROM STDIN",
        "VALUES (1)",
        "NOTIFY x",
        "WITH a AS (SELECT 1) SELECT 1",
        "REPLACE INTO t VALUES (1)",
        "REPLACE t (a) VALUES (1)",
        "INSERT t (a) VALUES (1)",
        "MERGE INTO t USING s ON 1 = 1",
        "CALL f()",
        "EXEC f",
        "SAVEPOINT x",
    ],
)
def test_looks_like_sql(text):
    assert looks_like_sql(text) is True
    assert looks_like_sql((0, " ", text)) is True


def test_empty_text():
    assert parse("") == () and parse(()) == () and parse(" -- nothing\n ; ;") == ()
    assert looks_like_sql("") is False


def test_non_sql_does_not_import_sqlglot():
    code = (
        "import sys; from noclobber.trace import sql; sql.parse('hello');"
        "sql.parse('BEGIN; COMMIT'); sql.parse('LOCK TABLE t');"
        "assert 'sqlglot' not in sys.modules; sql.parse('SELECT 1'); assert 'sqlglot' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("depth", [5, 31, 100, 3000])
def test_deep_brackets(depth):
    statement = only("SELECT " + "(" * depth + "1" + ")" * depth + " FROM t")
    assert statement.verb == ("select" if depth < 31 else "unread")
    assert statement.table == ("t",)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE " + "EXISTS (SELECT 1 FROM t WHERE " * 200 + "a = 1" + ")" * 200,
        "SELECT " + "NOT " * 2000 + "a FROM t",
        "SELECT " + "- " * 3000 + "a FROM t",
        "SELECT " + "CASE WHEN " * 1000,
        "SELECT '" + "a''" * 6000,
        "/*" * 9000,
        "SELECT " + "$a$" * 3000,
        "?" * 19_000,
        ":" * 19_000,
        "SELECT " + "%" * 15_000,
        "SELECT " + "[" * 9000,
        "x" * 300_000,
        "SELECT " + "a," * 100_000,
        "UPDATE t SET a = '" + "x" * 50_000 + "'",
        "\x00\ue000\ue001\udcff",
        "SELECT $99999999999 ?99999999999 :99999999999 FROM t",
    ],
    ids=lambda text: text[:20],
)
def test_hostile_text(text):
    for dialect in (None, "mysql"):
        assert all(s.verb in ("unread", "other", "select") for s in parse(text, dialect))


def test_long_chains_are_read():
    assert len(only("SELECT a FROM t WHERE " + " AND ".join(["a = ?"] * 1000)).where) == 1000
    assert only("UPDATE t SET a = " + " + ".join(["a"] * 2000)).assigns("a").form == "arith"


def test_text_over_the_bound_keeps_verb_and_table():
    (statement,) = parse("INSERT INTO big (a) VALUES " + "(1)," * 10_000)
    assert (statement.verb, statement.keyword, statement.table) == ("unread", "insert", ("big",))


def test_the_callers_stack_depth_does_not_matter():
    text = "SELECT a FROM t WHERE ((((((a = ? AND b = 41)))))) FOR UPDATE"

    def down(n):
        return down(n - 1) if n else only(text)

    deep = down(sys.getrecursionlimit() - 250)
    sql._parse.cache_clear()
    assert deep == only(text) and deep.lock == "update"


def test_literal_text_that_looks_like_a_hole():
    assert only("UPDATE __h7__ SET a = 1").table == ("__h7__",)
    assert only(("UPDATE ", 7, " SET a = 1")).table == (7,)


def test_unknown_dialects_and_cache():
    assert only("SELECT a FROM t", "weird") == only("SELECT a FROM t")
    assert parse(("SELECT a FROM t WHERE id = ", 3)) is parse(("SELECT a FROM t WHERE id = ", 3))


SPLINTERS = (
    "? %s :x $1 ( ) , WHERE AND OR NOT SET = FROM SELECT FOR_UPDATE ' \" ` /* -- $$ ; IN VALUES ON_CONFLICT CASE"
    " a 1 . * :: [ ] WITH UPDATE"
).split()


def mutated(parts, rnd):
    parts = list(parts)
    for _ in range(rnd.randint(1, 4)):
        k = rnd.randrange(len(parts))
        piece = parts[k]
        if not isinstance(piece, str) or not piece:
            continue
        i = rnd.randrange(len(piece))
        j = rnd.randrange(i, len(piece) + 1)
        parts[k : k + 1] = rnd.choice(
            [
                [piece[:i] + piece[j:]],
                [piece[:i]],
                [piece[:i], rnd.randrange(5), piece[i:]],
                [piece[:i] + " " + rnd.choice(SPLINTERS).replace("_", " ") + " " + piece[i:]],
            ]
        )
    return tuple(parts)


@pytest.mark.parametrize("seed", range(8))
def test_never_raises(seed, monkeypatch):
    """Random cuts, holes and splinters. An error of the reader itself would hide as "unread": it fails here."""
    rnd = random.Random(seed)
    errors = []
    read = sql._Reader.statement

    def watched(self, node):
        try:
            return read(self, node)
        except Exception as error:
            errors.append(error)
            raise

    monkeypatch.setattr(sql._Reader, "statement", watched)
    sources = [template(p.values[1]) for p in [*cases(STATEMENTS), *cases(SEEDS)]]
    for _ in range(150):
        text = mutated(rnd.choice(sources), rnd)
        known = {p for p in text if not isinstance(p, str)}
        for statement in parse(text, rnd.choice(("sqlite", "postgres", "mysql", "oracle", "tsql", None))):
            assert set(statement.holes) <= known
            for inner in statement.walk():
                assert all(isinstance(p, str) or p in known for name_ in inner.tables for p in name_)
                assert all(h in known for _, e in inner.sets for h in e.holes)
            statement.key_predicates(), statement.guard_predicates(str.isupper), statement.strongest_lock()
    assert not errors

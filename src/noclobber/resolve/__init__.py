"""Names to targets: one file's text, its outline, its import table. The stdlib's `ast` only.

`triage` and `link` share this module, so triage never sees less than link can follow (DESIGN §4). Everything here is
iterative: a file may hold an expression of 20,000 operands. Nothing refers to an `ast` node once `index_module` has
returned, except the tree it hands out for triage.
"""
from .depth import DEPTH_LIMIT, token_bound
from .index import ClassInfo, FunctionInfo, ModuleIndex, give_keys, index_module, parse
from .names import absolute, dotted, dotted_text, import_names, module_name
from .source import Source, SourceError, cookie, split_lines

__all__ = [
    "DEPTH_LIMIT", "ClassInfo", "FunctionInfo", "ModuleIndex", "Source", "SourceError", "absolute", "cookie", "dotted", "dotted_text",
    "give_keys", "import_names", "index_module", "module_name", "parse", "split_lines", "token_bound",
]

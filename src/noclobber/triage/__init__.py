"""Which scopes of a module can matter to the selected pages (DESIGN §4). It only skips: findings with triage on and
off are equal.

A scope is an outermost def with all that is in it, the loose statements of the module, or those of a class body. One
pass over the `ast` notes each scope's *atoms* (event kinds) and the names it mentions; names become *edges* to scopes
of the same module, blind to receivers except `self`, `cls` and `super()`. kinds(scope) = atoms + kinds of what the
edges reach. Everything errs towards more kinds. Sets of kinds are bit masks inside, frozensets of words outside.
"""
from .kinds import CARRIED, EFFECT, FAMILIES, KINDS, POLICY, READS, ROW_READS, ROW_WRITES, words_of
from .needle import has_needle
from .outline import CONSTRUCTORS, MODULE, Atoms, Outline, class_scope, read
from .roots import Meaning, Triage, benches, needs_of, outcome, roots, settle

__all__ = [
    "CARRIED", "CONSTRUCTORS", "EFFECT", "FAMILIES", "KINDS", "MODULE", "POLICY", "READS", "ROW_READS", "ROW_WRITES", "Atoms", "Meaning", "Outline",
    "Triage", "benches", "class_scope", "has_needle", "needs_of", "outcome", "read", "roots", "settle", "words_of",
]

"""Reads times out of text: a table of phrases per language over one calendar."""

from recallmesh.when.reader import GrammarTimeReader

__all__ = ["GrammarTimeReader"]

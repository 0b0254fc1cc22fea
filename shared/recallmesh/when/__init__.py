"""Reads times out of text: a table of phrases per language over one calendar."""

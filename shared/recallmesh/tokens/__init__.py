"""Counting tokens as OpenAI's models do, offline."""

"""A recall's trace as one page for a browser, which holds all it needs and loads nothing."""

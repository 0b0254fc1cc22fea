"""What the stores that are SQLite files have in common."""

"""One module for each step of the schema; a step that was released is never edited."""

"""The semantic arm: memories whose vectors are near the query's."""

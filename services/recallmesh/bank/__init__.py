"""What reads and administers banks, documents, memories, entities and operations."""

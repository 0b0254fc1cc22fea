"""Memory defense: finds what a bank keeps out of its memory, and takes it out or refuses it."""

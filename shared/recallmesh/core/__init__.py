"""The nouns, ports and errors of the mesh; standard library only."""

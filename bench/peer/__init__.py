"""The peer side by side: Hindsight and this mesh on the same models, memories, questions and machine, in turns."""

"""The recall service: asks the arms, fuses, reranks, scores and packs, and can say why."""

"""``python -m recallmesh.vectors.build DIRECTORY``: build the graphs of a shard that nobody else has open."""

import os
import sys
from pathlib import Path

from recallmesh.vectors.edge import load_shard

NICENESS = 10
"""Searches go first."""

if __name__ == "__main__":
    os.nice(NICENESS)
    shard = load_shard(Path(sys.argv[1]))
    shard.build()
    shard.close()

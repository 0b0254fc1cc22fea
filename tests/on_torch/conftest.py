"""Nothing here is for an environment without torch: ``make test-torch`` makes one that has it."""

from torch_models import HAS_TORCH

collect_ignore_glob = [] if HAS_TORCH else ["test_*.py"]

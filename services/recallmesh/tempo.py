"""How the interpreter shares its time in a process of the mesh."""

import gc
import sys

SWITCH_S = 0.0002
"""How long a thread may hold the interpreter's lock while another waits, in seconds.

Python's own 5 ms is for throughput: with it the event loop waits for a searching thread at each step of a recall. A
fifth of a millisecond takes a recall of 10,000 memories from 36 to 30 ms at 4 % more CPU.
"""
GC_THRESHOLDS = (50_000, 20, 100)
"""Objects made before a collection of the young, and collections before one of the older and the oldest.

A recall makes some ten thousand objects, none of them in cycles. With Python's own 700, looking again and again at what
is resident takes an eighth more CPU time and 2 of 30 ms of the median at 10,000 memories. The larger of what the
programme has set and this counts.
"""


def keep_tempo() -> None:
    """Set both, unless the programme has set what suits as well."""
    sys.setswitchinterval(min(SWITCH_S, sys.getswitchinterval()))
    gc.set_threshold(*map(max, GC_THRESHOLDS, gc.get_threshold()))

"""Hot loops, compiled: pure functions over arrays, each with a NumPy twin in `tests/kernels/reference/`, its
specification.

The compiled modules (`_base`, and `_avx2` where the machine has it) are loaded when the first kernel is called. Codes are
checked against the size of their tables before a kernel sees them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import threading
from numbers import Integral
from types import ModuleType

from ..errors import BadParameter

ASKED = threading.local()  # `ended`: an event after which this thread's kernels are to end


def ask() -> None:
    """What kernels ask now and then on the thread that called them; KeyboardInterrupt ends them."""
    ended: threading.Event | None = getattr(ASKED, "ended", None)
    if ended is not None and ended.is_set():
        raise KeyboardInterrupt


@functools.cache
def native() -> ModuleType:
    """The compiled module for this machine.

    The environment variable POSTERIORI_ISA=base keeps to the base instruction set (for tests). A developer's build may have
    one module alone (`make setup ISA=avx2`).
    """
    built = [isa for isa in ("_base", "_avx2") if importlib.util.find_spec(f"posteriori.kernels.{isa}")]
    module = importlib.import_module(f"posteriori.kernels.{built[0]}")
    if len(built) > 1 and os.environ.get("POSTERIORI_ISA") != "base" and module.supports_avx2():
        module = importlib.import_module("posteriori.kernels._avx2")
    module.ask(ask)
    return module


def n_threads(n_jobs: int | None, work: int, grain: int = 200_000) -> int:
    """Threads for a call: all cores (`n_jobs` None or −1) or `n_jobs`, but one on work too small to share.

    `work` is the number of elementary steps; a thread costs about as much as `grain` of them.
    """
    if n_jobs is not None and (type(n_jobs) is not int or n_jobs == 0) and not _is_number(n_jobs):
        raise BadParameter(f"n_jobs is a whole number other than 0, or None. Got {n_jobs!r} instead.")
    if work < 2 * grain:
        return 1  # before the system is asked, which takes longer than a row
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = cores if n_jobs is None else (cores + 1 + n_jobs if n_jobs < 0 else n_jobs)
    return max(1, min(wanted, work // grain))


def _is_number(n_jobs: object) -> bool:
    """Whether a number of threads is whole and not 0: a NumPy integer, say."""
    return isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0

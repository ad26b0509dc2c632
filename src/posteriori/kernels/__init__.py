"""Hot loops, compiled: pure functions over arrays. `_base.pyi` says what each computes, by its NumPy twin in
`tests/kernels/reference/`, which specifies it.

They are attributes of this package: `kernels.count_cells(…)`. The modules beside it hold what some of them take and give:
trees, packed rows, machines.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
from numbers import Integral
from types import ModuleType
from typing import TYPE_CHECKING

from ..budget import refuse_over
from ..errors import BadParameter

if TYPE_CHECKING:
    from ._base import *  # noqa: F403

ASKED = threading.local()  # `ended`: an event after which this thread's kernels are to end


def ask() -> None:
    """What kernels ask now and then on the thread that called them; KeyboardInterrupt ends them."""
    ended: threading.Event | None = getattr(ASKED, "ended", None)
    if ended is not None and ended.is_set():
        raise KeyboardInterrupt


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


def module_for(isa: str) -> ModuleType:
    """The kernels compiled for an instruction set, "_base" or "_avx2", ready to be called."""
    module = importlib.import_module(f"posteriori.kernels.{isa}")
    module.begin(ask, n_threads, refuse_over)
    return module


def _for_this_machine() -> ModuleType:
    """The compiled module for this machine.

    The environment variable POSTERIORI_ISA=base keeps to the base instruction set (for tests). A developer's build may have
    one module alone (`make setup ISA=avx2`).
    """
    built = [isa for isa in ("_base", "_avx2") if importlib.util.find_spec(f"posteriori.kernels.{isa}")]
    module = module_for(built[0])
    wide = len(built) > 1 and os.environ.get("POSTERIORI_ISA") != "base" and module.supports_avx2()
    return module_for("_avx2") if wide else module


native = _for_this_machine()
globals().update({name: found for name, found in vars(native).items() if not name.startswith("_")})

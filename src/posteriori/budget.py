"""Memory: one budget that every room asks, before the work, for all the bytes that are alive at its peak."""

from __future__ import annotations

import functools
import os

from .arrays import is_number
from .errors import BadParameter, MemoryBudgetError


def memory_budget(max_memory: float | None = None) -> float:
    """The bytes that a call may take: what was told, else half of the memory of this machine (or container)."""
    if max_memory is not None:
        if not is_number(max_memory, 0) or max_memory == 0:
            raise BadParameter(f"max_memory is a number of bytes above 0, or None. Got {max_memory!r} instead.")
        return float(max_memory)
    return _half_of_the_machine()


@functools.cache
def _half_of_the_machine() -> float:
    try:
        total = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return 4.0 * 2**30
    try:
        with open("/sys/fs/cgroup/memory.max") as limit:
            total = min(total, float(limit.read()))
    except (OSError, ValueError):
        pass
    return total / 2


def refuse_over(
    max_memory: float | None, peak: float, what: str, way_out: str = "give fewer columns or values"
) -> None:
    """Refuse work whose peak would take more bytes than allowed, with both figures and a way out, before it starts.

    >>> refuse_over(1e6, 5e6, "a table")
    Traceback (most recent call last):
    ...
    posteriori.errors.MemoryBudgetError: a table would take 4.8 MiB, over the budget of 976.6 KiB; give fewer columns ...
    """
    budget = memory_budget(max_memory)
    if peak > budget:
        raise MemoryBudgetError(
            f"{what} would take {human(peak)}, over the budget of {human(budget)}; {way_out}, or raise max_memory (bytes)"
        )


def human(size: float) -> str:
    """A number of bytes as people read it.

    >>> human(512), human(3 << 30)
    ('512 bytes', '3.0 GiB')
    """
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}" if size < 1e5 * scale else f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"

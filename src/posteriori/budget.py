"""Memory: one budget that every room asks, before the work, for all the bytes that are alive at its peak."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

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
    return min(total, *_limits(Path("/"))) / 2


def _limits(root: Path) -> Iterator[float]:
    """What `ulimit -v` and the control groups of this process and those above them allow, of version 1 and 2."""
    try:
        import resource

        told = resource.getrlimit(resource.RLIMIT_AS)[0]
        yield float("inf" if told == resource.RLIM_INFINITY else told)
    except ImportError:  # no such limits on this system
        yield float("inf")
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for number, kinds, path in (line.split(":", 2) for line in groups if line.count(":") >= 2):
        if number != "0" and "memory" not in kinds.split(","):
            continue
        mount, name = ("memory", "memory.limit_in_bytes") if number != "0" else ("", "memory.max")
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            try:
                yield float((root / "sys/fs/cgroup" / mount / group / name).read_text())
            except (OSError, ValueError):  # no such file, or "max"
                continue


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


def refuse_answer(rows: int, columns: int, tables: int = 2, what: str = "classes") -> None:
    """Refuse an answer that has numbers for each row and class: the table itself, and those that it is made of."""
    refuse_over(None, 8.0 * rows * columns * tables, f"{rows} rows × {columns} {what}", "ask for fewer rows at once")


def human(size: float) -> str:
    """A number of bytes as people read it.

    >>> human(512), human(3 << 30)
    ('512 bytes', '3.0 GiB')
    """
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}" if size < 1e5 * scale else f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"

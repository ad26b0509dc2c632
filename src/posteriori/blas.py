"""BLAS held to one thread where there is little to share: its threads wait for each other, long on a busy machine."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

LITTLE = 1 << 25  # multiplications, a few milliseconds of one thread
_lock = threading.Lock()
_inside: list[Callable[[], None]] = []  # for each that is inside, how to let the threads go; they belong to the process


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # who holds it does not live on in a forked child, which would wait for ever
    os.register_at_fork(after_in_child=_new_lock)


@functools.cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 it brings a BLAS of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_thread(work: int) -> Iterator[None]:
    """Inside, products of matrices run on the caller's thread, if they are no more than `LITTLE` multiplications in all.

    Who comes while another is inside shares the limit; the last who leaves lifts it, so that no other user's call changes
    the way, and with it the last digits, of one that is under way.
    """
    if work > LITTLE:
        yield
        return
    with _lock:
        _inside.append(_inside[-1] if _inside else _limit())
    try:
        yield
    finally:
        with _lock:
            let_go = _inside.pop()
            if not _inside:
                let_go()


def _limit() -> Callable[[], None]:
    """Hold BLAS to one thread; how to let it go from any thread."""
    libraries = _libraries()
    owners = {type(each) for each in libraries.lib_controllers if hasattr(type(each), "clear_controlling_thread")}
    held = libraries.limit(limits=1)

    def let_go() -> None:
        """threadpoolctl hears only the thread that came first; where that is ours, another may end what it began."""
        for owner in owners:
            owner.clear_controlling_thread(force=True)
        held.restore_original_limits()
        for owner in owners:
            owner.clear_controlling_thread(force=True)

    return let_go

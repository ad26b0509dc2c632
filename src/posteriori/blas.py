"""BLAS held to one thread where there is little to share: its threads wait for each other, long on a busy machine."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

LITTLE = 1 << 25  # multiplications, a few milliseconds of one thread
_holder = threading.Lock()  # the threads of BLAS belong to the process: one call at a time holds them, and lets them go


@functools.cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401 it brings a BLAS of its own
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_thread(work: int) -> Iterator[None]:
    """Inside, products of matrices run on the caller's thread, if they are no more than `LITTLE` multiplications in all."""
    if work > LITTLE or not _holder.acquire(blocking=False):
        yield
        return
    try:
        with _libraries().limit(limits=1):
            yield
    finally:
        _holder.release()

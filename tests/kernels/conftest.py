"""The kernels of both instruction sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from posteriori import kernels
from posteriori.budget import refuse_over


def use(isa: str) -> None:
    """`kernels.<name>` are from now on those of "_base" or "_avx2"."""
    module = kernels.module_for(isa)
    vars(kernels).update({name: found for name, found in vars(module).items() if not name.startswith("_")})


@pytest.fixture(params=["_base", "_avx2"], scope="module")
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    """The tests of a file by the kernels of each instruction set that this machine has."""
    if request.param == "_avx2" and not kernels.supports_avx2():
        pytest.skip("this machine has no AVX2")
    use(request.param)
    yield request.param
    use(kernels.native.__name__.rsplit(".")[-1])


@contextmanager
def many_threads() -> Iterator[np.int64]:
    """As `n_jobs` three threads for any work: how much is worth a thread is not asked."""
    kernels.begin(kernels.ask, lambda n_jobs, work, grain: int(n_jobs or 1), refuse_over)
    yield np.int64(3)
    kernels.begin(kernels.ask, kernels.n_threads, refuse_over)

"""Files that nobody saved: bytes changed at random, and files taken apart, changed and hashed anew.

`python -m tests.store.fuzz 200000` runs for long (`make fuzz` does); `test_fuzz` runs some of it.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import random
import time
import tracemalloc
import warnings

import numpy as np

from posteriori.errors import ModelFileError
from posteriori.store.codec import Reader
from posteriori.store.container import Budget
from posteriori.store.file import from_bytes, to_bytes

from .models import ALL, made
from .mutations import changed, changed_bytes, put_together, taken_apart
from .uses import answered, uses


def one(data, parts, rng, others=()):
    """(bytes, model or None): a changed file, and what it loads as."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, at rows that a metric takes for others
        return _one(data, parts, rng, others)


def _one(data, parts, rng, others):
    if rng.random() < 0.1:
        bad = changed_bytes(data, rng)
        try:
            return bad, from_bytes(bytearray(bad))
        except ModelFileError:
            return bad, None
    head, model, arrays = changed(parts, others, rng)
    bad = put_together(head, model, arrays)
    try:
        return bad, from_bytes(bytearray(bad))
    except ModelFileError as error:
        if "summary" not in str(error):
            return bad, None
    with np.errstate(all="ignore"):  # the summary could have been changed too
        return bad, Reader([np.ascontiguousarray(a) for a in arrays], Budget(len(bad))).value(json.dumps(model))


def used(model) -> None:
    """Ask a model that loaded for everything; it may refuse by name."""
    for name, call in uses(model):
        try:
            answered(name, call)
        except Exception as error:
            error.add_note(f"in {name}")
            raise


def peak_of(data: bytes) -> int:
    """The most bytes that Python held while a file was loaded."""
    tracemalloc.start()
    try:
        from_bytes(bytearray(data))
    except ModelFileError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def run(names, count: int, seed: int = 0) -> tuple[int, int]:
    """(files that loaded, all): any error but a named one comes out, and a file that takes 64 MB and four times itself."""
    loaded = 0
    seeds = [bytes(b"".join(map(bytes, to_bytes(made(name))))) for name in names]
    apart = [taken_apart(data) for data in seeds]
    for n in range(count):
        k = n % len(seeds)
        try:
            bad, model = one(seeds[k], apart[k], random.Random(f"{seed} {n}"), apart)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                peak = peak_of(bytes(bad))
            assert peak < (64 << 20) + 4 * len(bad), f"{peak:,} bytes for a file of {len(bad):,}"
            if model is not None and not isinstance(model, dict | list | tuple | str | int | float):
                loaded += 1
                used(model)
        except Exception as error:
            error.add_note(f"model {names[k]!r}, input {n} of seed {seed}")
            raise
    return loaded, count


def main() -> None:
    """Fuzz for long, and say how it went."""
    told = argparse.ArgumentParser(description=main.__doc__)
    told.add_argument("count", type=int, nargs="?", default=200_000)
    told.add_argument("--start", type=int, default=0, help="the first input, so that a long run can be taken in pieces")
    told = told.parse_args()
    step, begin, loaded = 2000, time.perf_counter(), 0
    for seed in range(told.start, told.start + told.count, step):
        faulthandler.dump_traceback_later(300, exit=True)
        some = min(step, told.start + told.count - seed)
        loaded += run(list(ALL), some, seed)[0]
        print(
            f"{seed - told.start + some:,} files, {loaded:,} of them models, {time.perf_counter() - begin:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""Files that nobody saved: bytes changed at random, and files taken apart, changed and hashed anew.

`python -m tests.store.fuzz 200000` runs for long (`make fuzz` does); `test_fuzz` runs some of it.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import time
import warnings

import numpy as np

from posteriori.errors import ModelFileError, PosterioriError
from posteriori.store.codec import Reader
from posteriori.store.container import OF_NAME, Budget, pack, split
from posteriori.store.file import from_bytes, to_bytes

NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    2**31 - 1,
    2**31,
    -(2**31),
    2**63 - 1,
    2**63,
    -(2**63),
    10**30,
    0.5,
    -0.0,
    1e308,
    1e-308,
]
WORDS = [
    "",
    "a",
    "nan",
    "float64",
    "linear",
    "cells",
    "numbers",
    "categorical",
    "numeric",
    "\ud800",
    "euclidean",
    "full",
]
CELLS = [0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**62, 1e308, -1e308, 1e-320, np.nan, np.inf, -np.inf, 0.5]


def taken_apart(data: bytes):
    """(head, model, arrays) of a file."""
    head, model, begin = split(bytearray(data), Budget(len(data)))
    said = json.loads(head)
    arrays, at = [None] * len(said["arrays"]), begin
    for k in sorted(range(len(arrays)), key=lambda k: (-OF_NAME[said["arrays"][k]["dtype"]].itemsize, k)):
        dtype, shape = OF_NAME[said["arrays"][k]["dtype"]], said["arrays"][k]["shape"]
        size = int(np.prod(shape, dtype=np.int64))
        arrays[k] = np.frombuffer(data, dtype, size, at).reshape(shape).copy()
        at += size * dtype.itemsize
    return said, json.loads(model), arrays


def put_together(head, model, arrays) -> bytearray:
    """The file of its parts, with the right hashes."""
    said = {k: v for k, v in head.items() if k != "arrays"}
    text = json.dumps(model, separators=(",", ":"))
    return bytearray(b"".join(map(bytes, pack(said, text, [np.ascontiguousarray(a) for a in arrays]))))


def nodes_of(value, found=None):
    """(container, key) of every node."""
    found = [] if found is None else found
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            found.append((value, key))
            nodes_of(value[key], found)
    return found


def change_model(model, rng) -> None:
    """One change somewhere in the JSON."""
    nodes = nodes_of(model)
    where, key = rng.choice(nodes)
    held, how = where[key], rng.randrange(10)
    if how < 4 and isinstance(held, int | float) and not isinstance(held, bool):
        where[key] = rng.choice(NUMBERS) if how else held + rng.choice([-1, 1])
    elif how < 4 and isinstance(held, bool):
        where[key] = not held
    elif how < 4 and isinstance(held, str):
        texts = [w[k] for w, k in nodes if isinstance(w[k], str)]
        where[key] = rng.choice(texts if rng.random() < 0.7 else WORDS)
    elif how < 6:
        other, there = rng.choice(nodes)
        where[key] = copy.deepcopy(other[there])
    elif how == 6:
        where[key] = rng.choice(
            [None, True, False, [], "", 0, -1, {"is": "tuple", "of": []}, {"is": "float", "of": "nan"}]
        )
    elif how == 7 and isinstance(where, dict) and key != "is":
        del where[key]
    elif how == 8 and isinstance(where, list):
        where.insert(rng.randrange(len(where) + 1), copy.deepcopy(held))
    elif isinstance(where, list):
        del where[key]
    else:
        other, there = rng.choice(nodes)
        if not isinstance(held, dict | list) and not isinstance(other[there], dict | list):
            where[key], other[there] = other[there], held


def change_array(arrays, rng) -> None:
    """One change of an array: cells, order, shape or dtype."""
    if not arrays:
        return
    k = rng.randrange(len(arrays))
    held, how = arrays[k], rng.randrange(9)
    if how < 4 and held.size:
        for _ in range(rng.choice([1, 1, 1, held.size])):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                cell = np.array(rng.choice(CELLS)).astype(held.dtype)
            held.flat[rng.randrange(held.size)] = cell
    elif how == 4 and held.ndim:
        arrays[k] = held[: rng.randrange(len(held) + 1)]
    elif how == 5:
        arrays[k] = rng.choice(
            [held.T, held[None], held.reshape(-1), np.repeat(held, 2, axis=0) if held.ndim else held]
        )
    elif how == 6:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            arrays[k] = held.astype(rng.choice(list(OF_NAME.values())))
    elif how == 7:
        arrays[k] = held[::-1]
    else:
        other = rng.randrange(len(arrays))
        arrays[k], arrays[other] = arrays[other], held


def changed_bytes(data: bytes, rng) -> bytearray:
    """A file with some bytes changed, cut, doubled or put elsewhere."""
    bad, how = bytearray(data), rng.randrange(6)
    at, to = sorted(rng.randrange(len(bad)) for _ in range(2))
    if how == 0:
        bad[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        del bad[at:]
    elif how == 2:
        del bad[at:to]
    elif how == 3:
        bad[at:at] = bad[at:to]
    elif how == 4:
        bad[at:to] = rng.randbytes(to - at)
    else:
        bad[:8] = rng.choice([0, 1, 2**63, 2**64 - 1, len(bad), len(bad) - 8]).to_bytes(8, "little")
    return bad


def one(data, parts, rng):
    """(bytes, model or None): a changed file, and what it loads as."""
    if rng.random() < 0.1:
        bad = changed_bytes(data, rng)
        try:
            return bad, from_bytes(bytearray(bad))
        except ModelFileError:
            return bad, None
    head, model, arrays = copy.deepcopy(parts)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.6:
            change_model(model, rng)
        else:
            change_array(arrays, rng)
    bad = put_together(head, model, arrays)
    try:
        return bad, from_bytes(bytearray(bad))
    except ModelFileError as error:
        if "summary" not in str(error):
            return bad, None
    with np.errstate(all="ignore"):  # the summary could have been changed too
        return bad, Reader([np.ascontiguousarray(a) for a in arrays], Budget(len(bad))).value(json.dumps(model))


def used(model) -> None:
    """Ask a model that loaded; it may refuse by name."""
    from .models import asked

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            asked(model)
    except (PosterioriError, ValueError):
        pass


def run(names, count: int, seed: int = 0, watch=None) -> tuple[int, int]:
    """(files that loaded, all): any error but a named one comes out."""
    from .models import made

    rng, loaded = random.Random(seed), 0
    seeds = [bytes(b"".join(map(bytes, to_bytes(made(name))))) for name in names]
    apart = [taken_apart(data) for data in seeds]
    for n in range(count):
        k = n % len(seeds)
        state = rng.getstate()
        try:
            with warnings.catch_warnings():  # foreign metrics warn of the rows that they index
                warnings.simplefilter("ignore")
                bad, model = one(seeds[k], apart[k], rng)
            if watch is not None:
                watch(bad)
            if model is not None and not isinstance(model, dict | list | tuple | str | int | float):
                loaded += 1
                used(model)
        except Exception as error:
            rng.setstate(state)
            error.add_note(f"model {names[k]!r}, input {n} of seed {seed}")
            raise
    return loaded, count


def main() -> None:
    """Fuzz for long, and say how it went."""
    import faulthandler

    from .models import ALL

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    step, begin, loaded = 2000, time.perf_counter(), 0
    for seed in range(0, count, step):
        faulthandler.dump_traceback_later(300, exit=True)
        loaded += run(list(ALL), step, seed)[0]
        print(f"{seed + step:,} files, {loaded:,} of them models, {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()

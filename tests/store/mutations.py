"""Files that nobody saved: bytes changed at random, and files taken apart, changed and hashed anew."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np

from posteriori.store.container import OF_NAME, Budget, pack, split

WHOLE = [0, 1, -1, 2, 3, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, -(2**63), 10**30, -(10**400)]
NUMBERS = [*WHOLE, 0.5, -0.0, 1e308, 1e-308]
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


def graft(model, arrays, other, rng) -> None:
    """Put a part of another model in the place of one with the same tag."""
    _, theirs, more = other
    mine = [(w, k) for w, k in nodes_of(model) if isinstance(w[k], dict) and isinstance(w[k].get("is"), str)]
    where, key = rng.choice(mine or [({"is": {"is": "-"}}, "is")])
    fits = [w[k] for w, k in nodes_of(theirs) if isinstance(w[k], dict) and w[k].get("is") == where[key]["is"]]
    if not fits:
        return
    part = copy.deepcopy(rng.choice(fits))
    for w, k in [([part], 0), *nodes_of(part)]:
        if isinstance(w[k], dict) and w[k].get("is") == "array":
            arrays.append(more[w[k]["at"]].copy())
            w[k]["at"] = len(arrays) - 1
    where[key] = part


def numbered(model, arrays):
    """The arrays that the model names, an own one for every place: what is left out or named twice is put right."""
    kept = []
    for w, k in [([model], 0), *nodes_of(model)]:
        at = w[k].get("at") if isinstance(w[k], dict) and w[k].get("is") == "array" else None
        if type(at) is int and 0 <= at < len(arrays):
            w[k]["at"] = len(kept)
            kept.append(arrays[at].copy())
    return kept


def change_array(arrays, rng) -> None:
    """One change of an array: cells, order, shape or dtype."""
    if not arrays:
        return
    k = rng.randrange(len(arrays))
    held, how = arrays[k], rng.randrange(14)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if how < 4 and held.size:
            for _ in range(rng.choice([1, 1, 1, held.size])):
                held.flat[rng.randrange(held.size)] = np.array(rng.choice(CELLS)).astype(held.dtype)
        elif how < 6 and held.size and held.dtype != bool:  # a little more or less
            at = rng.randrange(held.size)
            held.flat[at] = (held.flat[at] + held.dtype.type(1)) if how == 4 else (held.flat[at] - held.dtype.type(1))
        elif how == 6 and held.size:  # two cells change places, or become one
            a, b = rng.randrange(held.size), rng.randrange(held.size)
            held.flat[a], held.flat[b] = held.flat[b], held.flat[a if rng.random() < 0.5 else b]
        elif how == 7 and held.size and held.dtype != bool:
            arrays[k] = (held * np.float64(rng.choice([0, 2, -1, 1e10, 1e-10, 1e200]))).astype(held.dtype)
        elif how == 8 and held.ndim:
            arrays[k] = held[: rng.randrange(len(held) + 1)]
        elif how == 9:
            arrays[k] = rng.choice(
                [held.T, held[None], held.reshape(-1), np.repeat(held, 2, axis=0) if held.ndim else held]
            )
        elif how == 10:
            arrays[k] = held.astype(rng.choice(list(OF_NAME.values())))
        elif how == 11:
            arrays[k] = held[::-1]
        elif how == 12 and held.ndim:  # every array of this length loses, or repeats, the same place
            n, at = len(held), rng.randrange(len(held) + 1)
            gone = rng.random() < 0.5
            for i, other in enumerate(arrays):
                if other.ndim and len(other) == n and n:
                    order = np.delete(np.arange(n), at % n) if gone else np.insert(np.arange(n), at % n, at % n)
                    arrays[i] = other[order]
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


def changed(parts, others, rng):
    """(head, model, arrays) with one change or some; `others` are files that may give a part."""
    head, model, arrays = copy.deepcopy(parts)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        how = rng.random()
        if how < 0.4:
            change_model(model, rng)
        elif how < 0.9 or not others:
            change_array(arrays, rng)
        else:
            graft(model, arrays, rng.choice(others), rng)
    if rng.random() < 0.9:
        arrays = numbered(model, arrays)
    return head, model, arrays

"""kDB members as their definition says: counts read bit by bit, every cell of every table by its own ladder.

Symbols: x value, y class, u values of the parents; p_{−1} = 1/V, p_l = (n_l + c_l p_{l−1})/(N_l + c_l), c = ¼ 2^rung.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import Array, Floats, Ints

__all__ = ["bits_of", "member_tables", "read_cells", "write_cells"]


def bits_of(cells: Array) -> Iterator[int]:
    """The bits of bytes, the lowest first."""
    return iter(np.unpackbits(cells, bitorder="little").tolist())


def write_cells(table: Array) -> list[int]:
    """The cells of a table that are not zero, in their order, in bits: gaps and counts less one, by Rice's code.

    >>> write_cells(np.array([0, 0, 3, 1]))
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0]
    """
    at = np.flatnonzero(table)
    gaps, counts = np.diff(at, prepend=-1) - 1, table.ravel()[at] - 1
    wide, high = (_parameter(numbers.tolist()) for numbers in (gaps, counts))
    out = [*_bits(wide, 4), *_bits(high, 4)]
    for gap, count in zip(gaps.tolist(), counts.tolist()):
        out += [1] * (gap >> wide) + [0, *_bits(gap, wide)] + [1] * (count >> high) + [0, *_bits(count, high)]
    return out


def _bits(number: int, many: int) -> list[int]:
    return [number >> i & 1 for i in range(many)]


def _parameter(numbers: Sequence[int]) -> int:
    """The k of the fewest bits; of equals the first."""
    return int(np.argmin([sum((v >> k) + k + 1 for v in numbers) for k in range(16)]))


def read_cells(bits: Iterator[int], shape: tuple[int, ...], whole: int) -> Ints:
    """The counterpart of `write_cells`: a table of counts that sum to `whole`.

    >>> read_cells(iter(write_cells(np.array([0, 0, 3, 200]))), (2, 2), 203).tolist()
    [[0, 0], [3, 200]]
    """
    wide, high = _number(bits, 4), _number(bits, 4)
    table, place = np.zeros(int(np.prod(shape)), dtype=np.int64), 0
    while whole:
        place += _rice(bits, wide)
        count = _rice(bits, high) + 1
        table[place] = count
        place, whole = place + 1, whole - count
    return table.reshape(shape)


def _number(bits: Iterator[int], many: int) -> int:
    return sum(next(bits) << i for i in range(many))


def _rice(bits: Iterator[int], k: int) -> int:
    ones = 0
    while next(bits):
        ones += 1
    return ones << k | _number(bits, k)


def member_tables(codes: list[int], held: tuple[Any, ...], whole: int) -> tuple[list[Array], list[list[list[Floats]]]]:
    """(values by code of each member, its tables of θ[parent, parent, x, y] by column and rung)."""
    sizes, cuts, parents, cells, cut_ends, cell_ends, prior = held
    K, values, tables = prior.shape[1], list[Array](), list[list[list[Floats]]]()
    for m, ((a, b), (first, last)) in enumerate(zip(pairwise(cut_ends), pairwise(cell_ends))):
        begins, bits = iter(cuts[a:b].tolist()), bits_of(cells[first:last])
        own, ladders = list[Ints](), list[list[Floats]]()
        for j, V in enumerate(sizes[m].tolist()):
            value = np.arange(codes[j])
            if codes[j] > V:
                value = np.searchsorted([next(begins) for _ in range(V - 1)], value, side="right")
            own.append(value)
            above = [int(sizes[m, p - 1]) for p in parents[m, j].tolist() if p > 0]
            c = [0.25 * 2.0 ** _number(bits, 4) for _ in range(len(above) + 1)]
            n = read_cells(bits, (*above, V, K), whole).astype(np.float64)
            theta, ladder = np.full((V, K), 1.0 / V), list[Floats]()
            for length in range(len(above) + 1):
                seen = n.sum(axis=tuple(range(length, len(above))))
                base = theta if length == 0 else theta[..., None, :, :]
                theta = (seen + c[length] * base) / (seen.sum(axis=-2, keepdims=True) + c[length])
                ladder.append(theta)
            ladders.append(ladder)
        values.append(np.concatenate(own))
        tables.append(ladders)
    return values, tables

"""Text to word counts, by scikit-learn's own analyzer."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np


@cache
def _analyzer() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer().build_analyzer()


def count_words(column: Any, name: str) -> tuple[list[str], Any]:
    """(vocabulary, CSR matrix of counts) of a text column; a missing text has no words.

    >>> words, bags = count_words(np.array(["win cash cash", None], dtype=object), "message")
    >>> words, bags.toarray().tolist()
    (['cash', 'win'], [[2.0, 1.0], [0.0, 0.0]])
    """
    from scipy.sparse import csr_matrix

    from ..errors import BadValue

    analyze = _analyzer()
    cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    place: dict[str, int] = {}
    indices: list[int] = []
    indptr = [0]
    for i, cell in enumerate(cells):
        if isinstance(cell, str):
            indices.extend(place.setdefault(word, len(place)) for word in analyze(cell))
        elif cell is not None and cell == cell:
            raise BadValue(f"row {i}, column {name!r}: expected text. Got {cell!r} instead.")
        indptr.append(len(indices))
    vocabulary = sorted(place)
    rank = np.empty(len(place), dtype=np.int32)
    rank[[place[w] for w in vocabulary]] = np.arange(len(place), dtype=np.int32)
    found = rank[np.array(indices, dtype=np.int64)] if indices else np.zeros(0, dtype=np.int32)
    bags = csr_matrix((np.ones(len(found)), found, np.array(indptr, dtype=np.int32)), shape=(len(cells), len(place)))
    bags.sum_duplicates()
    return vocabulary, bags

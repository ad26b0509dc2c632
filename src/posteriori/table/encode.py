"""Rows to blocks: codes for columns with values, numbers for columns with numbers, word counts for text.

A block has its own, local coding: column j's code c stands for `values[j][c]`, and the code `len(values[j])` for a missing
cell. Statistics and tables are matched to it by value, so nothing ever depends on a code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np

from ..arrays import Array, Bools, Ints
from ..budget import refuse_over
from ..errors import BadType, BadValue
from ..kernels import ASKED, ask, n_threads
from .frame import Frame
from .labels import narrowest
from .schema import Column, Value, in_order, is_missing, refuse_twins

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Seen:
    """How many cells of the rows were missing, and how many had a value that training did not have."""

    missing: int = 0
    unseen: int = 0

    def __add__(self, other: Seen) -> Seen:
        return Seen(self.missing + other.missing, self.unseen + other.unseen)


SHORT = 1000  # numbers that are sorted before Arrow has begun
FEW = 200  # words that are looked up before Arrow has begun
WIDEST_RANGE = 1 << 16  # integers within such a range are coded by a look-up table


@dataclass(frozen=True, eq=False)
class Coded:
    """Columns with values: what the codes stand for, and the codes (a matrix, or a list of columns)."""

    values: tuple[Sequence[Value], ...]
    codes: Any
    n_missing: int

    @cached_property
    def offsets(self) -> Ints:
        """Where each column's cells begin in a table with a row for missing at the end of every column."""
        sizes = [len(v) + 1 for v in self.values]
        return np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))]).astype(np.int64)

    @cached_property
    def upright(self) -> Any:
        """The codes with every column in one piece, as counting by shares reads them fastest."""
        matrix = isinstance(self.codes, np.ndarray)
        return np.asfortranarray(self.codes) if matrix else self.codes

    @property
    def columns(self) -> list[Array]:
        """The codes of every column."""
        return [self.column(k) for k in range(len(self.values))]

    def column(self, k: int) -> Array:
        """The codes of one column."""
        found: Array = self.codes[:, k] if isinstance(self.codes, np.ndarray) else self.codes[k]
        return found


def team_map(work: Callable[[Any], T], items: Sequence[Any], cells: int, n_jobs: int | None) -> list[T]:
    """What `work` makes of each column, in threads where there are many cells; Ctrl-C ends all of them."""
    workers = n_threads(n_jobs, cells) if cells > 1 << 17 else 1
    if workers < 2 or len(items) < 2:
        return [work(item) for item in items]
    ended = threading.Event()

    def own(item: Any) -> T:
        ASKED.ended = ended
        ask()
        return work(item)

    with ThreadPoolExecutor(workers) as team:
        try:
            return list(team.map(own, items))
        except BaseException:
            ended.set()
            raise


def code_columns(frame: Frame, where: Sequence[int], n_jobs: int | None = None) -> Coded:
    """Code the columns `where` of a frame."""
    if frame.memo is not None:
        known: Coded = frame.once(("codes", *where), lambda bare: code_columns(bare, where, n_jobs))
        return known
    whole = frame.matrix is not None and len(where) == frame.d
    if whole and frame.matrix is not None and frame.matrix.dtype.kind in "biu" and frame.matrix.size:
        found = _code_integers(frame.matrix)
        if found is not None:
            return found
    parts = team_map(lambda j: factorize(frame.column(j), frame.name(j)), where, frame.n * len(where), n_jobs)
    missing = sum(int(np.count_nonzero(codes == len(values))) for values, codes in parts)
    return Coded(tuple(values for values, _ in parts), [codes for _, codes in parts], missing)


def _code_integers(matrix: Array) -> Coded | None:
    """A whole matrix of integers in a small range: the cells are the codes, nothing is looked up."""
    if matrix.dtype == bool:
        return Coded(((False, True),) * matrix.shape[1], matrix.view(np.uint8), 0)
    low, high = int(matrix.min()), int(matrix.max())
    low = 0 if matrix.dtype == np.uint8 and high < 255 else low  # bytes are used as they are
    if high - low >= WIDEST_RANGE - 1 or (high - low) * matrix.shape[1] > 4 * matrix.size + 65_536:
        return None
    dtype = narrowest(high - low + 2)
    codes = matrix
    if low != 0 or matrix.dtype != dtype:
        codes, step = np.empty_like(matrix, dtype=dtype, subok=False), max(1 << 20, matrix.shape[1]) // matrix.shape[1]
        for begin in range(0, len(matrix), step):
            codes[begin : begin + step] = _above(matrix[begin : begin + step], low)
    return Coded((range(low, high + 1),) * matrix.shape[1], codes, 0)


def _above(x: Array, low: int) -> Array:
    """x − low in a type that holds it."""
    wide = {1: np.int16, 2: np.int32}.get(x.dtype.itemsize, np.int64)
    return x - x.dtype.type(low) if x.dtype == np.uint64 else x.astype(wide, copy=False) - low


def seen_columns(coded: Coded, seen: Bools, columns: Sequence[Column]) -> tuple[list[Column], Ints]:
    """(the columns with the values whose cells were `seen`, where each cell stands among these values; −1: nowhere).

    Cells are numbered as `offsets` says; those of missing values stand nowhere, and a binary column has exactly two values.
    """
    found, places, first, ends = list[Column](), list[int](), 0, coded.offsets.tolist()
    for k, column in enumerate(columns):
        used = seen[ends[k] : ends[k + 1] - 1].tolist()
        values = [v for v, u in zip(coded.values[k], used) if u]
        column = _as_binary(column, values) if column.kind == "binary" else column
        column = column.with_values(values)
        if column.values == tuple(values):
            at = iter(range(first, first + len(values)))
        else:
            at = iter([first + column.place[v] for v in values])
        places += [next(at) if u else -1 for u in used]
        places.append(-1)
        found.append(column)
        first += len(column.values)
    return found, np.array(places, dtype=np.int64)


def _as_binary(column: Column, values: list[Value]) -> Column:
    if set(values) <= {0, 1} and not column.declared:  # False and True are 0 and 1
        both: tuple[Value, ...] = (False, True) if any(isinstance(v, bool) for v in values) else (0, 1)
        column = Column(column.name, "binary", both, frozenset(both))
    if len(found := in_order({*values, *column.declared})) > 2:
        refuse_twins(found, f"column {column.name!r}")
        raise BadValue(
            f"column {column.name!r} is binary but has {len(found)} values: {list(found[:5])}; "
            "give it the kind 'categorical'"
        )
    return column


def factorize(column: Any, name: str) -> tuple[Sequence[Value], Array]:
    """(values, codes) of one column: values in order, the code len(values) for a missing cell.

    >>> factorize(np.array(["b", None, "a"], dtype=object), "x")
    (('a', 'b'), array([1, 2, 0], dtype=uint8))
    """
    if isinstance(column, np.ndarray) and column.dtype.kind in "biu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < min(WIDEST_RANGE, 16 * len(column) + 256):
            shifted = _above(column, low).astype(np.intp, copy=False)
            counts = np.bincount(shifted)
            present = np.flatnonzero(counts)
            lut = np.zeros(len(counts), dtype=narrowest(len(present) + 1))
            lut[present] = np.arange(len(present))
            values = [bool(v) for v in present + low] if column.dtype == bool else [v + low for v in present.tolist()]
            return tuple(values), lut[shifted]
    if isinstance(column, np.ndarray) and column.dtype.kind == "f" and len(column) <= SHORT:
        present, codes = np.unique(column + 0.0, return_inverse=True)  # NaN comes last, and is one
        values = present[~np.isnan(present)].tolist()
        return tuple(values), codes.astype(narrowest(len(values) + 1))
    return _by_arrow(column, name)


def distinct(column: Any, name: str) -> tuple[Sequence[Value], int]:
    """(values in order, observed cells) of one column, as `factorize` has them.

    >>> distinct(np.array(["b", None, "a"], dtype=object), "x")
    (('a', 'b'), 2)
    """
    if not isinstance(column, np.ndarray) and len(column) > FEW:
        import pyarrow.types as t

        if t.is_string(column.type) or t.is_large_string(column.type):  # of a dictionary some words may stand nowhere
            return in_order(set(column.unique().to_pylist()) - {None}), len(column) - column.null_count
    values, codes = factorize(column, name)
    return values, int(np.count_nonzero(codes != len(values)))


def _by_arrow(column: Any, name: str) -> tuple[Sequence[Value], Array]:
    import pyarrow as pa

    if len(column) <= FEW:
        cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
        if set(map(type, cells)) <= {str, type(None)}:
            return _few_words(cells)
    try:
        cells = pa.array(column, from_pandas=True) if isinstance(column, np.ndarray) else column
        coded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    except (pa.ArrowException, OverflowError, UnicodeError):
        return _by_hash(column, name)
    words, codes = coded.dictionary.to_pylist(), coded.indices
    if codes.null_count:  # one code more, which may be one too many for the type
        codes = codes.cast(pa.int64()).fill_null(len(words))
    return _sorted_codes(words, codes.to_numpy(), name)


def _few_words(cells: list[str | None]) -> tuple[Sequence[Value], Array]:
    values = tuple(sorted({cell for cell in cells if cell is not None}))
    place: dict[str | None, int] = {v: i for i, v in enumerate(values)}
    place[None] = len(values)
    return values, np.array([place[cell] for cell in cells], dtype=narrowest(len(values) + 1))


def _by_hash(column: Any, name: str) -> tuple[Sequence[Value], Array]:
    """Python objects of several types."""
    place: dict[Any, int] = {}
    codes = np.empty(len(column), dtype=np.int64)
    for i, cell in enumerate(column):
        if is_missing(cell):
            codes[i] = -1
            continue
        try:
            codes[i] = place.setdefault(cell.item() if isinstance(cell, np.generic) else cell, len(place))
        except TypeError:
            raise BadType(f"column {name!r}, row {i}: argument must be a string or a number, not {cell!r}") from None
    return _sorted_codes(list(place), np.where(codes < 0, len(place), codes), name)


def _sorted_codes(words: list[Any], codes: Array, name: str) -> tuple[Sequence[Value], Array]:
    """Codes of words in any order (repeated or missing words too) → codes of the values in order."""
    if any(isinstance(w, Decimal) for w in words):
        words = _without_decimals(words, name)
    used = np.bincount(codes, minlength=len(words) + 1)[:-1] > 0
    present = {w for w, u in zip(words, used) if u and w is not None and w == w}
    values = in_order(present)
    place = {v: i for i, v in enumerate(values)}
    lut = np.array([place.get(w, len(values)) for w in words] + [len(values)], dtype=narrowest(len(values) + 1))
    return values, lut.take(codes)


def _without_decimals(words: list[Any], name: str) -> list[Any]:
    """Decimals as the numbers that a file of text would have: whole ones of 64 bits, else the nearest float."""
    of: dict[Any, Any] = {}
    for word in (w for w in words if isinstance(w, Decimal) and not w.is_nan()):
        whole = word == word.to_integral_value() and abs(word) < 2**63
        other = of.setdefault(int(word) if whole else float(word), word)
        if other != word:
            raise BadValue(
                f"column {name!r}: {other} and {word} have more digits than numbers hold: make words of them"
            )
    plain = {word: value for value, word in of.items()}
    return [plain.get(w, w) if isinstance(w, Decimal) else w for w in words]


def numbers(frame: Frame, where: Sequence[int]) -> Array:
    """The columns `where` as a matrix of numbers, missing cells NaN; the caller's own matrix where it is one already."""
    if frame.memo is not None:
        known: Array = frame.once(("numbers", *where), lambda bare: numbers(bare, where))
        return known
    if frame.matrix is not None and frame.matrix.dtype.kind in "biuf":
        part = frame.matrix if len(where) == frame.d else frame.matrix[:, where]
        return part
    if frame.sparse is not None:
        refuse_over(
            None,
            frame.n * len(where) * (8 + frame.sparse.dtype.itemsize),
            f"{len(where)} numeric columns of a sparse table, made dense,",
            'pass kinds="count" or kinds="binary", which keep it sparse',
        )
        part = frame.sparse if len(where) == frame.d else frame.sparse[:, list(where)]
        return np.asarray(part.toarray(), dtype=np.float64)
    out = np.empty((frame.n, len(where)), dtype=np.float64, order="F")
    for k, j in enumerate(where):
        out[:, k] = as_floats(frame.column(j), frame.name(j))
    return out


def as_floats(column: Any, name: str) -> Array:
    """The cells of one column as numbers, missing ones NaN."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "biuf":
        return column
    if isinstance(column, np.ndarray):
        try:
            return np.array([np.nan if is_missing(v) else float(v) for v in column], dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            for i, v in enumerate(column):
                try:
                    float(np.nan if is_missing(v) else v)
                except TypeError:
                    raise BadType(
                        f"column {name!r}, row {i}: argument must be a string or a number, not {v!r}"
                    ) from None
                except ValueError:
                    raise BadValue(f"column {name!r}, row {i}: expected a number. Got {v!r} instead.") from None
                except OverflowError:
                    raise BadValue(
                        f"column {name!r}, row {i}: expected a number. Got a whole number larger than any float instead."
                    ) from None
            raise
    import pyarrow as pa

    try:
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if pa.types.is_decimal(plain.type):  # by its digits: Arrow's own way is a unit off in the last place
            plain = plain.cast(pa.string())
        cast: Array = plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return cast
    except pa.ArrowException as error:
        raise BadValue(f"column {name!r}: expected numbers. {error}") from error


def as_written(cells: Any) -> Any:
    """Numbers of single precision in an Arrow column as the ones that a file of text has: by their digits.

    >>> import pyarrow as pa
    >>> as_written(pa.array([0.1, None], pa.float32())).to_pylist()
    [0.1, None]
    """
    import pyarrow as pa

    return cells.cast(pa.string()).cast(pa.float64()) if pa.types.is_float32(cells.type) else cells


def dense(frame: Frame) -> Frame:
    """A sparse table as a dense one, within the memory budget."""
    return Frame(frame.n, frame.names, matrix=numbers(frame, range(frame.d)))


@cache
def _analyzer() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer().build_analyzer()


def words_of(frame: Frame, j: int) -> tuple[list[str], Any]:
    """`count_words` of a column of a frame."""
    if frame.memo is not None:
        known: tuple[list[str], Any] = frame.once(("words", j), lambda bare: words_of(bare, j))
        return known
    return count_words(frame.column(j), frame.name(j))


def count_words(column: Any, name: str) -> tuple[list[str], Any]:
    """(vocabulary, CSR matrix of counts) of a text column; a missing text has no words.

    >>> words, bags = count_words(np.array(["win cash cash", None], dtype=object), "message")
    >>> words, bags.toarray().tolist()
    (['cash', 'win'], [[2.0, 1.0], [0.0, 0.0]])
    """
    from scipy.sparse import csr_matrix

    analyze = _analyzer()
    cells = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    place: dict[str, int] = {}
    indices: list[int] = []
    indptr = [0]
    for i, cell in enumerate(cells):
        if isinstance(cell, str):
            indices.extend(place.setdefault(word, len(place)) for word in analyze(cell))
        elif not is_missing(cell):
            raise BadValue(f"row {i}, column {name!r}: expected text. Got {cell!r} instead.")
        indptr.append(len(indices))
    vocabulary = sorted(place)
    rank = np.empty(len(place), dtype=np.int32)
    rank[[place[w] for w in vocabulary]] = np.arange(len(place), dtype=np.int32)
    found = rank[np.array(indices, dtype=np.int64)] if indices else np.zeros(0, dtype=np.int32)
    bags = csr_matrix((np.ones(len(found)), found, np.array(indptr, dtype=np.int32)), shape=(len(cells), len(place)))
    bags.sum_duplicates()
    return vocabulary, bags

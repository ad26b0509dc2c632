"""What the compiled kernels compute; `_avx2` has the same functions. Symbols: n rows, d columns, K classes, N counts.

Arrays are taken as they are, and refused where their type or order in memory does not fit; where a docstring does not say
otherwise, answers are new arrays. `n_jobs` is as `kernels.n_threads` takes it, and changes no result. Weights (n,) are
those of the rows; weights (n, K) are shares: a row counts w[r, y] in every class y, and its own class is not asked.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Array, Bools, Codes, Floats, Ints
from .margin import Descent, Epoch, KernelSpec, Machines, Packed, SparseColumns
from .neighbors import Flat, Panel
from .trees import Boosting, MemberCounts, Trees
from .trees import Codes as CodedRows

def supports_avx2() -> bool: ...
def begin(ask: Callable[[], None], n_threads: Callable[..., int], refuse_over: Callable[..., None], /) -> None:
    """Tells the kernels what to ask between their tasks, how many threads there are, and what refuses too much memory."""

def refuse_large(columns: int, n_classes: int, tables: int, what: str = "columns") -> None:
    """Refuses counts of so many columns by class, in so many tables, that do not fit into memory."""

# Codes: `columns` are arrays of codes, or a matrix (n, d) of codes; the cells of column j begin at offsets[j].

NAN: int  # bits of what was seen among the numbers read
INF: int
NEGATIVE: int  # bits of what was seen among the stored cells of a sparse matrix
NOT_FINITE: int

Columns = Sequence[Array] | Array

def count_cells(
    columns: Columns, y: Array, offsets: Array, n_classes: int, weights: Floats | None = None, n_jobs: int | None = None
) -> Array:
    """N[offsets[j] + code, y] = Σ w of the rows with that code in column j and that class; int64 without weights."""

def count_families(
    columns: Sequence[Array] | Array, sizes: Sequence[int], families: Sequence[Sequence[int]], n_jobs: int | None = None
) -> list[Array]:
    """N[x_family] of each family of columns, flat, its last column fastest; `sizes` are the values of the columns."""

def log_joint_cells(
    columns: Columns, log_theta: Floats, offsets: Array, start: Floats, n_jobs: int | None = None
) -> Floats:
    """out[r, y] = start[y] + Σ_j log_theta[offsets[j] + code_jr, y]; start is log P(y), or a matrix (n, K) to add to."""

def posterior_cells(
    columns: Columns, log_theta: Floats, offsets: Array, start: Floats, n_jobs: int | None = None
) -> tuple[Floats, int]:
    """(P(y|x), first row that no class allows or −1) of log_joint_cells, in one pass."""

def normalise(log_joint: Floats, n_jobs: int | None = None, out: Floats | None = None) -> tuple[Floats, Floats]:
    """(posterior, log evidence) of each row; a row of −inf alone has posterior 0 and evidence −inf.

    The posterior is written to `out`, which may be log_joint itself.
    """

def posterior(log_joint: Floats, n_jobs: int | None = None) -> tuple[Floats, int]:
    """(P(y|x), first row that no class allows or −1); log_joint is overwritten."""

def share_out(
    log_joint: Floats, known: Array, weights: Floats | None = None, hard: bool = False, n_jobs: int | None = None
) -> tuple[Floats, float]:
    """(w·P(y|x), Σ w ln P(x)), log_joint overwritten: rows of class known[r] ≥ 0 give w to it and count w ln P(y, x).

    `hard`: a hidden row gives w to its most probable class, the first of equals, and counts w max_y ln P(y, x).
    """

def log_counts(
    counts: Array,
    offsets: Array,
    alpha: Array,
    below: Floats,
    others: bool = False,
    by_class: Floats | None = None,
    less: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, bool]:
    """(ln(N'[r, y] + α_r) − below[s, y] for the rows r of each scope s, whether all are finite).

    N' are the counts (rows, K), or by_class[y] − N, or what the other classes have, Σ_c N[r, c] − N[r, y], and then the
    negative is taken. `alpha` has one entry, or one a row; scope s owns the rows offsets[s] .. offsets[s+1]. `less`, shape
    (rows, K), is taken away in the end; whether its numbers are finite is not said.
    """

def column_sums(table: Floats, n_jobs: int | None = None) -> tuple[Floats, Floats]:
    """(Σ over the first axis, what rounding took from it)."""

def encode_integers(y: Array) -> tuple[Array, Array] | None:
    """(distinct values, codes) of integers that span less than 65536 and 256 + 16 n; else None."""

def narrow(X: Array, n_jobs: int | None = None) -> Array | None:
    """X as bytes in its own order of memory, floats cut to whole numbers; None if one is none of 0 .. 255.

    X is contiguous, by rows or by columns, of float64, float32, int64 or int32.
    """

# Sparse rows: a CSR matrix; without data every stored cell is 1, with `above` a cell is 1 above it, else 0. `seen` says
# whether a negative or a non-finite number was among the data.

def count_sparse(
    indptr: Array,
    indices: Array,
    data: Array | None,
    n_columns: int,
    y: Array,
    n_classes: int,
    weights: Floats | None = None,
    above: float | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, int]:
    """(N, seen): N[j, y] = Σ w·x over the stored cells, shape (d, K)."""

def score_sparse(
    indptr: Array,
    indices: Array,
    data: Array | None,
    table: Floats,
    start: Floats,
    low: Floats | None = None,
    above: float | None = None,
    posterior: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, int, int]:
    """(log joint or posterior, first impossible row or −1, seen): start[y] + Σ_j x_rj·table[j, y] over the stored cells.

    `low`, shape (K,), is what rounding took from `start`.
    """

# Numbers: any real dtype, any order of memory; NaN is missing.

def class_moments(
    X: Array, y: Array, n_classes: int, weights: Floats | None = None, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats, Floats, Floats, int]:
    """(n, mean, M2, low, high, seen), all but the last (K, d): Σw, Σwx/Σw, Σw(x−mean)², least and greatest x of weight.

    `seen` says whether NaN or inf was among the cells. Of shares there is no range, since nobody forgets a part of a row.
    """

def score_gaussian(
    X: Array, mean: Floats, variance: Floats, start: Floats, posterior: bool, n_jobs: int | None = None
) -> tuple[Floats, int, int]:
    """(log joint or posterior, first impossible row or −1, whether NaN or inf was among the cells).

    ln P[r, y] = start + Σ_j −½[ln 2πσ²_yj + (x_j − μ_yj)²/σ²_yj] over the observed cells; mean, variance are (K, d).
    """

def kernel_tree(centres: Floats, weights: Floats, width: float, n_jobs: int | None = None) -> Floats:
    """What `log_kernel_sums` needs of its centres (sorted, at least one) and their weights (positive)."""

def log_kernel_sums(
    x: Floats, centres: Floats, weights: Floats, width: float, tree: Floats, n_jobs: int | None = None
) -> Floats:
    """ln Σ_v w_v exp(−½((x − v)/h)²) of each x, to 1e-7 of the sum."""

def histograms(
    X: Array, y: Array, n_classes: int, limit: int, weights: Floats | None = None, n_jobs: int | None = None
) -> list[tuple[Array, Floats, int, int]]:
    """(keys, N[cell, y], level, whether NaN or inf was among the cells) of each column of X.

    Of shares, the cells are those of all rows of weight.
    """

def add_hashes(X: Array, salts: Array, total: Array, n_jobs: int | None = None) -> None:
    """total[r] += Σ_j mix(x_rj ⊕ salt_j), x as the bits of a float64; −0 counts as 0, and every NaN is the same."""

def mdl_cuts(table: Array) -> Ints:
    """The cells of N[v, y] before which Fayyad and Irani's rule cuts, in rising order."""

def greedy_cuts(rising: Floats, bins: int) -> Ints:
    """Places of rising numbers before which a cut lies, as `statistics.cuts.greedy_cuts` says.

    >>> greedy_cuts(np.array([1.0, 2.0, 2.0, 4.0]), 128).tolist()
    [1, 3]
    """

def bin_codes(x: Floats, cuts: Floats) -> Array:
    """How many cuts are at most x, as bytes or 16-bit numbers; one more than there are bins where x is missing (NaN).

    >>> bin_codes(np.array([0.5, 1.0, 9.0, np.nan]), np.array([1.0, 2.0])).tolist()
    [0, 1, 2, 3]
    """

class NumericColumns:
    """Histograms laid end to end, that of column j from offsets[j] to offsets[j + 1]; moments (d, K, 3): n, mean, M2."""

    def __init__(
        self,
        values: Floats,
        centres: Floats,
        table: Floats,
        offsets: Array,
        exact: Array,
        moments: Floats,
        smoothing: float,
        floor: float,
        ddof: float,
    ) -> None: ...
    def left_out(
        self,
        x: Floats,
        y: Array,
        out: Floats,
        turn: Floats,
        log_share: Floats,
        folded: float,
        worst: float,
        n_jobs: int | None = None,
    ) -> Floats:
        """ln P^−i(y|x_i)/P(y) by bins, kernels, a normal, their mean, and nothing, (d, 5, R, K); x is (d, R).

        0 where x is missing, nothing below −worst. Bins of more than `folded` rows are not searched again for each row.
        """

def search_densities(
    start: Floats,
    parts: Floats,
    y: Array,
    weights: Floats,
    errors: Floats,
    first: int,
    second: int,
    lead: float,
    worst: float,
    rounds: int,
) -> list[int]:
    """The candidate of each column with which the rows are best foretold: `start` (R, K), `parts` (d, candidates, R, K)."""

SHAPES: tuple[str, ...]

class Curves:
    """ln p(x|y) of numeric columns, each of one of the SHAPES, good to 1e-6; `work` is the number of steps to make them."""

    def __init__(
        self, columns: NumericColumns, shapes: Sequence[str], log_share: Floats, work: int, n_jobs: int | None = None
    ) -> None: ...
    def score(self, X: Array, at: Ints, start: Floats, n_jobs: int | None = None) -> tuple[Floats, int]:
        """(start + Σ_j ln p(x_j|y), whether NaN or inf was among the cells) of the columns `at` of X."""

    def parts(self, X: Array, at: Ints) -> Floats:
        """ln p(x_j|y) of each of the columns `at` of X, (n, len(at), K); 0 where x is missing."""

    def kernels(self, column: int) -> tuple[float, float, Floats, list[tuple[Floats, Floats]]]:
        """(μ, σ² of the normal for all classes, (K, 3): h, ln (1 − share)/(h √2π), ln share, (v, w) of each class)."""

    def pieces(self, column: int) -> tuple[Floats, Floats, Floats, Floats]:
        """(edges, middle, scale, c) of the pieces p of a column: ln p(x|y) = Σ_k c[p, k, y] ((x − middle_p)·scale_p)^k
        from edges_p up to the next; where scale is no number there is no polynomial."""

    def information(self, prior: Floats, n_jobs: int | None = None) -> Floats:
        """I(X_j; Y) in nats of each column under P(y); of bins by their counts."""

def normal_information(mean: Floats, variance: Floats, prior: Floats, n_jobs: int | None = None) -> Floats:
    """I(X_j; Y) in nats of normal class densities with means and variances (K, d), by a fine sum over the line."""

# Several columns together. Codes that are not below their column's size are missing.

def count_pairs(
    columns: Columns,
    sizes: Sequence[int],
    y: Array,
    n_classes: int,
    weights: Floats | None = None,
    *,
    way: str = "auto",
    n_jobs: int | None = None,
    max_memory: float | None = None,
) -> Array:
    """N[xi, xj, y] for all pairs i < j, stacked in one table of shape (Σ S_i·S_j, K).

    S_j stands for missing and leaves the row out of the tables of j. `way` forces "bitmaps" or "scalar" increments; left
    alone, each pair is counted the faster way.

    >>> x = np.array([[0, 1], [1, 1], [0, 2]], dtype=np.uint8)  # 2 is missing
    >>> count_pairs(x, [2, 2], np.array([0, 1, 0], dtype=np.uint8), 2).tolist()
    [[0, 0], [1, 0], [0, 0], [0, 1]]
    """

def padded(n_classes: int) -> int:
    """How many classes a table of super-parents has room for: 2, or a multiple of 4."""

def parent_table(rows: int, cells: int, n_classes: int, number: float = 1.0) -> Floats:
    """A table [row, cell, class] of super-parents, of one number.

    It begins where a cache line does, so that no four classes lie across two lines.

    >>> table = parent_table(2, 5, 3)
    >>> table.shape, float(table.min()), table.__array_interface__["data"][0] % 64
    ((2, 5, 4), 1.0, 0)
    """

def sum_of_products(rows: Array, cells: Array, theta: Floats, n_classes: int, n_jobs: int | None = None) -> Floats:
    """out[r, y] = ln Σ_s Π_j theta[rows[r, s], cells[r, j], y]; −inf where no super-parent takes part.

    Rows and cells are int32 and negative where they take no part; the classes of theta are padded with ones.

    >>> theta = np.full((1, 2, 2), 0.5)
    >>> np.exp(sum_of_products(np.zeros((1, 1), np.int32), np.array([[0, 1]], np.int32), theta, 2)).tolist()
    [[0.25, 0.25]]
    """

def leave_one_out(
    codes: Array,
    first: Array,
    y: Array,
    theta: Floats,
    own: Floats,
    totals: Floats | None,
    prior: Floats,
    prior_own: Floats,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Sums [d, 3] of log loss, squared error and 0-1 loss with each attribute as the super-parent: see the twin."""

def pair_tables(
    scopes: Array,
    offsets: Array,
    cells: Array | None,
    counts: Array,
    sizes: Sequence[int],
    keys: Array,
    smoothing: float,
    n_jobs: int | None = None,
) -> Floats:
    """θ[ab, c, y] of pairs of values ab as super-parents, from counts of all triples of columns: see the twin."""

def ladder_losses(
    columns: Sequence[Array],
    sizes: Sequence[int],
    ladders: Sequence[tuple[Sequence[int], Sequence[int]]],
    log_theta: Floats,
    start: Floats,
    y: Array,
    most: int,
    every: bool,
    weights: Floats | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """Sums [k, t, 3] of log loss, squared error of P(y|x) and 0-1 loss with up to k parents and the first t ladders.

    A ladder is (family, begins): its child and the child's parents, and where the tables of its rungs begin in
    log_theta [cell, y]; rung l is [x_p1, …, x_pl, x_child] of ln θ. A missing child adds nothing, a missing parent ends the
    climb. All t are judged where `every` is asked, else the last.

    >>> x, y = np.array([0, 1], np.uint8), np.array([0, 1], np.uint8)
    >>> theta = np.log(np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> found = ladder_losses([x], [2], [((0,), (0,))], theta, np.log([0.5, 0.5]), y, 0, True)
    >>> np.exp(-found[0, :, 0] / 2).round(4).tolist()
    [0.5, 0.75]
    """

# Families of columns: `codes` is a matrix [column, row]; `x_log_x` is N ln N for whole counts 0, 1, …, none of which may be
# passed; `bits` are the `value_bitmaps` of the codes.

def value_bitmaps(codes: Array, states: Sequence[int], n_jobs: int | None = None) -> Array:
    """For each state of each column of at most 16 states the rows that have it, a bit each; made once for many calls.

    >>> value_bitmaps(np.array([[0, 1, 1]], np.uint8), [2])[:, 0].tolist()
    [1, 6]
    """

def toggle_scores(
    codes: Array,
    sizes: Sequence[int],
    child: int,
    parents: Sequence[int],
    candidates: Sequence[int],
    kind: str,
    number: float,
    weights: Floats | None = None,
    *,
    states: Sequence[int] | None = None,
    x_log_x: Floats | None = None,
    regret: Floats | None = None,
    bits: Array | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """[0] the score of the child with `parents`; [1 + k] with candidate k added, or taken away if it is one of them.

    A child's code that is not below its column's size leaves the row out, as does a parent's that is not below `states`
    (the sizes unless given). The score sums over the configurations π of the parents, from N[π, x]: "penalised"
    Σ_x N ln(N[π, x]/N[π]) less `number` for each of the q(r − 1) parameters; "fnml" the same less `regret[N[π]]`; "bdeu"
    and "k2" ln Γ(a r)/Γ(a r + N[π]) + Σ_x ln Γ(a + N[π, x])/Γ(a) with a = number/(q r), or 1.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 0]], np.uint8)
    >>> toggle_scores(codes, [2, 2], 1, [], [0], "penalised", 0.0).round(4).tolist()
    [-2.2493, -1.3863]
    """

def g_tests(
    codes: Array,
    sizes: Sequence[int],
    x: int,
    given: Sequence[int],
    candidates: Sequence[int],
    weights: Floats | None = None,
    *,
    x_log_x: Floats | None = None,
    bits: Array | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """[k, 0] G² = 2 Σ N ln(N·N[π]/(N[π, x] N[π, z])) of x and candidate z given π; [k, 1] its degrees of freedom.

    Those are Σ_π (values of x − 1)(values of z − 1), of the values that occur with π. Missing cells leave a row out.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8)
    >>> g_tests(codes, [2, 2], 0, [], [1]).round(4).tolist()
    [[5.5452, 1.0]]
    """

Climbed = tuple[list[list[int]], list[float], list[tuple[int, int, int, float, float]], bool]

def climb(
    codes: Array,
    sizes: Sequence[int],
    start: Sequence[Sequence[int]],
    kind: str,
    number: float,
    weights: Floats | None = None,
    *,
    states: Sequence[int] | None = None,
    x_log_x: Floats | None = None,
    regrets: Sequence[Floats] = (),
    bits: Array | None = None,
    n_jobs: int | None = None,
    **rules: Any,
) -> Climbed:
    """The parents of the best network met, their scores, the steps (move, u, v, gain, score), and if it finished.

    Scores are those of `toggle_scores`, `regrets` by child. A network is climbed from the parents in `start` by these
    rules: `required[u, v]` and `forbidden[u, v]` are arrows, `most` the parents of a node, and scores that differ by no
    more than `least` are equal; `symmetric` says that on no other parents u → v is worth as much as v → u. `tabu` steps
    without gain are tried, and so many `restarts` from networks drawn with `seed`. Where no step gains, nodes are moved in
    their order, until so many `orders` in a row were in vain, or, of more than 16 nodes, until that has asked for `moves`
    scores and four times those of the climb before. `tell(move, u, v, gain, score)` hears of each step and `tell()` between
    them; where one is not true, or on Ctrl-C without it, the search ends.

    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint8)
    >>> no = np.zeros((2, 2), bool)
    >>> rules = {"required": no, "forbidden": no, "most": 1, "least": 0.0, "symmetric": True}
    >>> climb(codes, [2, 2], [[], []], "penalised", 0.5, **rules)[0]
    [[], [0]]
    """

def climb_asking(
    ask: Callable[[int, list[int], list[int]], Sequence[float]], start: Sequence[Sequence[int]], **rules: Any
) -> Climbed:
    """`climb` by scores of another kind: `ask(child, parents, candidates)` gives what `toggle_scores` would.

    >>> no = np.zeros((2, 2), bool)
    >>> rules = {"required": no, "forbidden": no, "most": 1, "least": 0.0, "symmetric": True}
    >>> climb_asking(lambda v, parents, some: [len(parents), *(1 - len(parents) for _ in some)], [[], []], **rules)[0]
    [[], [0]]
    """

def best_network(
    codes: Array,
    sizes: Sequence[int],
    weights: Array,
    cells: Floats,
    below: Sequence[int],
    ess: float,
    price: float,
    most: int,
    equal: float,
    required: Sequence[int],
    forbidden: Sequence[int],
    seconds: float = ...,
    n_jobs: int | None = None,
) -> tuple[list[int], float] | None:
    """The parents of every node, as bits, in a network of greatest score, and that score; −∞ where none is allowed.

    None where that takes more than so many `seconds`.

    Scores are s(v | P) = Σ cells[0][N(P ∪ v)] − Σ cells[below[v]][N(P)] − price q (r − 1), the sums over the cells that
    occur; with `ess` above 0 a cell of the set S adds ln Γ(a + N)/Γ(a), a = ess/|S|, instead. `codes` are uint16, none of
    them missing, `weights` uint32 say how often a row occurs, `required` and `forbidden` are bits of parents.

    >>> same = np.array([[0, 0, 1, 1], [0, 0, 1, 1]], np.uint16)
    >>> logs = np.array([[0, 0, 2 * np.log(2), 3 * np.log(3), 4 * np.log(4)]])
    >>> best_network(same, [2, 2], np.ones(4, np.uint32), logs, [0, 0], 0.0, 0.5, 1, 0.0, [0, 0], [0, 0])[0]
    [2, 0]
    """

# Margins: X is dense, or CSR with int64 starts and int32 columns; x̃ = (x, bias). Twins: `margin.py`.

def pack_rows(rows: Array, n_jobs: int | None = None) -> tuple[Array, Array]:
    """(panels, norms) of `Packed` rows, float32 or float64."""

def kernel_rows(
    spec: KernelSpec, a: Array, a_norms: Array, b: Packed, out: Array, slot: Ints, n_jobs: int | None = None
) -> None:
    """out[slot[i], j] = K(a_i, b_j) for the first n columns of `out`; the rest of it is left as it is."""

def kernel_square(spec: KernelSpec, b: Packed, out: Array, n_jobs: int | None = None) -> None:
    """out[i, j] = K(b_i, b_j) for the first n rows and columns of `out`, one half computed and mirrored."""

def sparse_kernel_rows(
    spec: KernelSpec, a: Any, a_norms: Floats, b: SparseColumns, out: Array, slot: Ints, n_jobs: int | None = None
) -> None:
    """out[slot[i], j] = K(a_i, b_j) for CSR rows a; not for kind "manhattan"."""

def kernel_sums(
    spec: KernelSpec, a: Array, a_norms: Array, b: Packed, coef: Floats, n_jobs: int | None = None
) -> Floats:
    """out[i, c] = Σ_j K(a_i, b_j) coef[c, j], the kernel never stored."""

def smo_block(
    K: Array, low: Floats, high: Floats, beta: Floats, v: Floats, tol: float, max_steps: int
) -> tuple[int, float]:
    """Pairs moved and the gap left; beta and v = p − Kβ change in place until the gap is under `tol`.

    K is (q, q) or, which saves a copy, the first q columns of the wider array that `margin.square` gives.
    """

def smo_machines(
    K: Array, machines: Machines, tol: float, max_steps: int, n_jobs: int | None = None
) -> tuple[Floats, Floats, Floats]:
    """(β, v, ends) of every problem, solved as `smo_block` does; ends (machines, 5): steps, gap, intercept,
    βᵀKβ, and how far v may have drifted from p − Kβ.

    K is what `margin.square` gives, its first columns filled.
    """

def subtract_rows(rows: Array, slot: Ints, step: Floats, v: Floats, n_jobs: int | None = None) -> None:
    """v[j] −= Σ_r step[r] · rows[slot[r], j], in place."""

def merge_rows(X: Floats, target: Floats, weight: Floats, directions: Floats) -> tuple[Ints, Floats, Ints, Floats]:
    """(first, total, group, share): equal rows of positive weight with equal targets, in the order of the targets.

    Rows are compared where their projections on the two directions agree.
    """

def pair_votes(decisions: Floats, n_classes: int) -> Floats:
    """One score a class from the decisions of every pair, in order: its wins, and below them (under ½) their sum."""

def row_dots(X: Any, w: Floats, bias: float, n_jobs: int | None = None) -> Floats:
    """x_iᵀw + bias·w_last of every row of X."""

def row_sums(X: Any, weight: Floats, bias: float, w: Floats | None = None, n_jobs: int | None = None) -> Floats:
    """Σ weight_i x̃_i or, with w, Σ weight_i (x̃_iᵀw) x̃_i; rows of weight 0 are not read."""

def row_squares(X: Any, weight: Floats, bias: float, n_jobs: int | None = None) -> Floats:
    """Σ weight_i x̃_i², cell by cell."""

def squared_hinge(margin: Floats, slope: Floats, C: Floats, t: float = 0.0) -> tuple[float, float, float]:
    """(Σ C s², Σ C s·slope, Σ C·slope² where s > 0), s = max(0, 1 − margin − t·slope)."""

def conjugate(
    X: Any,
    weight: Floats,
    bias: float,
    scale: Floats,
    state: tuple[Floats, Floats, Floats],
    enough: float,
    max_steps: int,
    n_jobs: int | None = None,
) -> int:
    """Conjugate gradients for (1 + Σ weight_i x̃_i x̃_iᵀ) out = g, until Σ scale·rest² ≤ enough: the steps taken.

    `state` is (out, rest = g − H out, along = the next direction), changed in place; it begins as (0, g, scale·g).
    """

def descend(X: Any, state: Descent, last: Epoch, seed: int) -> tuple[int, float, float]:
    """One pass of dual coordinate descent over the active rows of X, as the parts of an `Epoch`."""

def free_move(X: Any, state: Descent, free: Ints, max_steps: int) -> Floats:
    """−Q⁻¹g over the rows `free` of a descent, by at most `max_steps` conjugate gradients; see the twin."""

def ridge_folds(
    points: Floats,
    y: Array,
    weights: Floats,
    rows: list[Array],
    offset: Floats,
    charge: Floats,
    metric: Floats,
    B: Floats,
    steps: int,
    tol: float,
    n_jobs: int | None = None,
) -> Floats:
    """L of each model, whose B[m] walks from where it is to where L of its own rows is least.

    L = Σ_r w_r/W ln Σ_c exp(η_rc − η_r,y_r) + ½ Σ_cj charge_j B[c, j]²/W, W = Σ_r w_r, η = B z + intercept + offset; one
    row of B, that of the second class, where there are two. `metric` is about the inverse of L's second derivatives. A
    walk ends with a step that would promise less than `tol`, or after so many `steps`. Threads take a model each.
    """

# Mixtures: factors are (K, d) of diagonals, or (K, d, d). Twins: `mixture.py`.

def mixture_log_joint(
    X: Array, unit: Floats, means: Floats, factors: Floats, log_weights: Floats, n_jobs: int | None = None
) -> Floats:
    """log π_k + log N(x_n; k), shape (n, K); by diagonal factors a missing cell (NaN) takes no part."""

def mixture_sums(
    X: Array,
    weights: Floats | None,
    unit: Floats,
    means: Floats,
    factors: Floats,
    log_weights: Floats,
    pivots: Floats,
    shares: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) of one pass over the rows."""

def broken_log_joint(
    Z: Floats,
    starts: Ints,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    n_jobs: int | None = None,
) -> Floats:
    """log π_k + log N(cells that are there; k) of rows with missing cells, pattern after pattern."""

def broken_sums(
    Z: Floats,
    starts: Ints,
    weights: Floats | None,
    means: Floats,
    covariances: Floats,
    log_weights: Floats,
    log_unit: Floats,
    pivots: Floats,
    shares: Floats | None = None,
    n_jobs: int | None = None,
) -> tuple[float, Floats, Floats, Floats]:
    """(ℓ, N, S, Q) of rows with missing cells, what is missing as it is expected."""

def kmeans_step(
    X: Array,
    weights: Floats | None,
    shift: Floats,
    unit: float,
    panels: Array | None,
    C: Floats,
    origin: Floats,
    place: Floats,
    drift: Floats | None,
    wide: bool,
    label: Codes,
    bounds: Array | None,
    sums: Floats | None,
    n_jobs: int | None = None,
) -> tuple[int, int, int]:
    """(labels that changed, rows settled in double precision, rows looked at): a step of `mixture.Nearest`."""

def kmeans_panels(X: Array, shift: Floats, unit: float, n_jobs: int | None = None) -> Array:
    """Rows in single precision, sixteen side by side, as the products of `mixture.Nearest` read them."""

def kmeans_distances(X: Array, shift: Floats, centres: Floats, label: Codes, n_jobs: int | None = None) -> Floats:
    """‖x − shift − c_label‖² of each row."""

def kmeans_candidates(X: Array, shift: Floats, candidates: Ints, closest: Floats, n_jobs: int | None = None) -> Floats:
    """min(closest[r], ‖x_r − x_c‖²) of each candidate c and row r."""

# Neighbours: arrays are C-contiguous, finite and of one float type. Twins: `neighbors.py`.

def column_bounds(X: Array, n_jobs: int | None = None) -> tuple[Any, Any, bool]:
    """(lo, hi, finite): the least and largest value of each column, and whether every cell is finite."""

def kdtree_build(X: Array, scale: float, leaf_size: int, n_jobs: int | None = None) -> tuple[Any, ...]:
    """The parts of the `Flat` kd-tree of X·scale."""

def kdtree_nearest(
    tree: Flat,
    leaf_size: int,
    Q: Array,
    k: int,
    metric: str,
    p: float,
    skip: Codes | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Ints]:
    """(distance, index), each (m, k), by distance and then by index; row skip[i] is no neighbour of query i."""

def kdtree_within(
    tree: Flat, leaf_size: int, Q: Array, radius: Array, metric: str, p: float, n_jobs: int | None = None
) -> tuple[Ints, Ints, Any]:
    """(start, index, distance): query i found index[start[i] : start[i+1]], in the tree's order."""

def kdtree_count(
    tree: Flat, leaf_size: int, Q: Array, radius: Array, metric: str, p: float, n_jobs: int | None = None
) -> Ints:
    """How many points are at most radius[i] from query i."""

def brute_panel(X: Array, lo: Array, hi: Array, n_jobs: int | None = None) -> tuple[Any, ...]:
    """The parts of the `Panel` of the points of X, for `brute_nearest`."""

def brute_nearest(
    X: Array, panel: Panel, Q: Array, k: int, skip: Codes | None = None, n_jobs: int | None = None
) -> tuple[Any, Ints]:
    """The k nearest by the Euclidean metric from all distances; the same answer as `kdtree_nearest`."""

# Networks: nodes are 0 … n−1, sizes[v] the states of node v; tables are flat, their last axis fastest. Twins: `network.py`.

Tables = Sequence[tuple[Sequence[int], Floats]]  # scope and flat table of each
Proposal = Sequence[
    tuple[int, Tables]
]  # nodes in the order they are drawn, each with the tables whose product draws it
GibbsStep = tuple[Sequence[int], Sequence[int], Ints, Codes]
CHUNK: int  # cases a seed: fixed, so that threads change no draw

def elimination_order(
    adjacency: Sequence[Sequence[int]], sizes: Sequence[int], budget: float = ...
) -> tuple[list[int], list[list[int]], float, list[int]]:
    """A greedy elimination order of an undirected graph, the maximal cliques it leaves, and its figures.

    The figures are the cells of all its steps, and the nodes of the largest. Where every order found needs more cells than
    the budget, order and cliques are empty; so they are, too, for graphs of more than 20,000 nodes that are all dense.
    """

class JunctionPlan:
    """The compiled tree of a network's graph; it knows its `bytes` before any table is multiplied in (`fill`).

    A tree over the budget, in bytes, is not laid out: only its figures are known.
    """

    bytes: float
    largest: list[int]
    largest_cells: float
    def __init__(self, sizes: Sequence[int], parents: Sequence[Sequence[int]], budget: float) -> None: ...
    def fill(self, tables: Floats, offsets: Ints) -> None:
        """Multiplies the tables in, that of node v from offsets[v] on."""

    def cliques(self) -> list[list[int]]: ...

class JunctionState:
    """Buffers and findings for one questioner of a filled plan; what is impossible gives False, or −∞."""

    log_probability: float
    def __init__(self, plan: JunctionPlan) -> None: ...
    def set(self, plan: JunctionPlan, nodes: Codes, values: Floats) -> None: ...
    def change(self, node: int, likelihood: Floats) -> None: ...
    def reset(self) -> None: ...
    def collect(self) -> bool: ...
    def marginals(self, out: Floats) -> bool: ...
    def joint(self, nodes: Sequence[int], out: Floats) -> bool: ...
    def most_probable(self, out: Codes) -> float: ...
    def sample(self, seeds: NDArray[np.uint64], chunk: int, threads: int, out: Codes) -> bool: ...

def junction_batch(plan: JunctionPlan, cases: Codes, targets: Sequence[int], threads: int) -> tuple[Floats, Bools]:
    """Marginals of the targets side by side for every case (−1 missing), and which cases are possible."""

def junction_expected(
    plan: JunctionPlan, cases: Codes, weights: Floats, offsets: Ints, threads: int
) -> tuple[Floats, Floats]:
    """Σ_r weights[r] · P(x_family | case r) of the families that a case does not state whole, tables end to end from
    `offsets` on; and log P(case r), −∞ where a case is impossible.
    """

def combine_factors(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    logs: Sequence[bool],
    keep: Sequence[bool],
    maximise: bool,
) -> tuple[Floats, float, bool]:
    """Σ (or max) of Π tables onto the axes to keep; axis k has sizes[k] states, scopes[f] are the axes of table f.

    The result is the table, whose largest cell is 1, times e^second; −∞ says that all is zero. Tables marked in `logs` are
    logarithms, and so is the result where the third is true: its cells lie further apart than floats reach.

    >>> tables = [np.array([1.0, 2.0]), np.arange(4.0)]
    >>> table, log_scale, wide = combine_factors([2, 2], [[0], [1, 0]], tables, [False, False], [True, False], False)
    >>> table.tolist(), round(float(np.exp(log_scale)), 12), wide
    ([0.25, 1.0], 8.0, False)
    """

def sum_out(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[Floats],
    logs: Sequence[bool],
    order: Sequence[int],
    budget: float,
    maximise: bool,
) -> tuple[float, list[tuple[tuple[int, ...], Floats, bool]], list[int], float, list[int]]:
    """Σ (or max) of Π tables over the nodes of the order, one after the other: variable elimination.

    Returned are the log of what was scaled away (−∞: all is zero), the tables left (scope, table, whether it is in
    logarithms), the best states of a maximum in the order, the cells alive at the step that needs most, and its nodes. Over
    the budget (in cells) nothing is computed.

    >>> tables = [np.array([0.5, 0.5]), np.array([0.9, 0.1, 0.3, 0.7])]
    >>> scale, left, *_ = sum_out([2, 2], [[0], [0, 1]], tables, [False, False], [0], 1e9, False)
    >>> left[0][0], (np.exp(scale) * left[0][1]).round(4).tolist()
    ((1,), [0.6, 0.4])
    """

def gibbs_chains(
    sizes: Sequence[int],
    fixed: Sequence[int],
    factors: Tables,
    proposal: tuple[Proposal, float],
    blocks: Sequence[GibbsStep],
    choice: Ints,
    place: Ints,
    seeds: NDArray[np.uint64],
    schedule: tuple[int, int, int, int, int],
    threads: int,
    keep: bool = False,
) -> tuple[Floats, Floats, Codes]:
    """Mean conditional probabilities of every node, by chain and batch (chains, batches, Σ_v r_v), and Σ w/W by chain.

    And the states after each kept sweep (chains, sweeps, nodes), or after none.

    `fixed` holds the states of the hard findings. The proposal of the leaps comes with the log of the largest weight W that
    a case can have. A block is (nodes, factors, offsets (states, factors), values (states, nodes)), its states in
    lexicographic order; in joint state j it adds offsets[j, i] to the place of factor i. `choice` (chains, blocks) and
    `place` (chains, factors) are where the chains begin, and afterwards where they ended. The schedule is (burn-in,
    thinning, batches, kept sweeps a batch, sweeps between leaps); without leaps, 0, it is the pure walk, which counts the
    states that it draws.
    """

def draw_cases(
    sizes: Sequence[int],
    fixed: Sequence[int],
    proposal: Proposal,
    counted: int,
    terms: Tables,
    seeds: NDArray[np.uint64],
    rows: int,
    threads: int,
) -> tuple[Codes, Floats]:
    """Cases (rows, n) drawn a node at a time, findings held, and their log weights Σ ln terms − ln q.

    q counts the first `counted` nodes of the proposal. Each seed draws `CHUNK` cases, the last what is left.
    """

# Trees; `tell` hears now and then how much is done. Twins: `trees.py`.

def grow_trees(
    codes: CodedRows,
    y: Array,
    K: int,
    weights: Floats | None = None,
    *,
    criterion: str = "entropy",
    tried: int = 0,
    drawn: bool = False,
    max_depth: int | None = None,
    least: float = 0.0,
    seeds: Array | None = None,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> Trees:
    """A tree of all rows, or with `seeds` one for each of them, of n rows drawn in proportion to the weights.

    A node that is not of one class is split where that gains most ("entropy", "ratio" or "gini"), even nothing, of the
    columns in their order or of `tried` that are drawn (more, until one has two values). `drawn`: an ordered cut lies
    anywhere between the codes that it parts, and named values are ordered by the share of one class drawn, instead of each
    in turn. `least` is the weight that either side must have.

    >>> codes = CodedRows(np.array([[0, 1, 2, 3]], np.uint8), (4,), (False,))
    >>> tree = grow_trees(codes, np.array([0, 0, 1, 1]), 2)
    >>> tree.column.tolist(), int(tree.cut[0]), tree.counts.tolist()
    ([0, -1, -1], 1, [[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]])
    """

def draw_bags(n: int, weights: Floats | None, seeds: Array, n_jobs: int | None = None) -> Array:
    """The rows that each seed's bag has, a bit each: [seed, word of 64 rows]."""

def tree_leaves(trees: Trees, codes: CodedRows, n_jobs: int | None = None) -> Array:
    """The node where every row ends, [tree, row]."""

def path_counts(trees: Trees, codes: CodedRows, y: Array, weights: Floats | None = None) -> Floats:
    """The weight of rows that pass each node of a tree, by class."""

def forest_sums(
    trees: Trees, codes: CodedRows, c: float, bags: Array | None = None, n_jobs: int | None = None, between: float = 1.0
) -> tuple[Floats, Array]:
    """(Σ over trees of the posterior where a row ends, how many trees answered); none that has the row in its bag.

    From the root down p_l = (n_l + c_l p_{l−1})/(N_l + c_l), p_{−1} = 1/K: c_l is c at the root and at a leaf, c times
    `between` at nodes between them.
    """

def forest_truth(
    trees: Trees,
    codes: CodedRows,
    y: Array,
    cs: Sequence[float],
    bags: Array | None = None,
    n_jobs: int | None = None,
    between: float = 1.0,
) -> tuple[Floats, Array]:
    """`forest_sums` of each row's own class alone, [row, c]."""

def boost(
    codes: CodedRows,
    y: Array,
    K: int,
    weights: Floats | None,
    fold: Array,
    seeds: Array,
    how: Boosting,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> tuple[Trees, Floats, Array, Floats, Array]:
    """(trees, gain of each node's split, start [fold, value], losses out of fold, F [row, value] out of fold).

    A model for each seed, of the rows of other folds; all have as many trees, those of fold f together, fold after fold.
    Two classes have one value, the log-odds of the second, more classes one each. `counts` of these trees are what a row
    that ends in a node is given.
    """

def boost_tree(
    codes: CodedRows, g: Floats, h: Floats, how: Boosting, seed: int = 0, words: bool = False
) -> tuple[Trees, Floats]:
    """(The tree of derivatives g and h [row, value], what each node's split gains).

    In `words`, as of many rows of several classes, g and h have some steps up to their greatest and are rounded by chance.

    >>> codes = CodedRows(np.array([[0, 1, 2, 3]], np.uint8), (4,), (False,))
    >>> g, h = np.array([[-0.5], [-0.5], [0.5], [0.5]]), np.full((4, 1), 0.25)
    >>> tree, gains = boost_tree(codes, g, h, Boosting(depth=1, least=1, rate=1.0))
    >>> int(tree.cut[0]), tree.counts[:, 0].round(3), round(float(gains[0]), 3)
    (1, array([ 0.   ,  0.667, -0.667], dtype=float32), 1.333)
    """

def boosted_posterior(trees: Trees, start: Array, K: int, codes: CodedRows, n_jobs: int | None = None) -> Floats:
    """The mean over folds of softmax(start + Σ of what the fold's trees give the row)."""

def grow_members(
    codes: CodedRows,
    blank: Sequence[bool],
    y: Array,
    K: int,
    weights: Floats | None,
    seeds: Array,
    most: int,
    n_jobs: int | None = None,
    tell: Callable[[int], Any] | None = None,
) -> MemberCounts:
    """A member for each seed, of n rows drawn in proportion to the weights; the tables of a column have `most` numbers.

    `blank` says of which columns code 0 is a missing cell.

    >>> codes = CodedRows(np.array([[0, 0, 1, 1] * 5], np.uint8), (2,), (True,))
    >>> one = grow_members(codes, [False], codes.cells[0] == 1, 2, None, np.zeros(1, np.uint64), 1000)
    >>> one.cells.size, one.opened().tables.size
    (4, 4)
    """

def member_sums(
    members: Any, codes: CodedRows, bags: Array | None = None, n_jobs: int | None = None
) -> tuple[Floats, Array]:
    """(Σ over `Members` of P(y|x), how many answered); none that has the row in its bag."""

def member_room(counts: MemberCounts) -> int:
    """How many numbers the tables have; refuses counts that are none."""

def open_members(counts: MemberCounts, n_jobs: int | None = None) -> tuple[Array, Ints, Array]:
    """(values, starts, tables) of the `Members` that have counted these."""

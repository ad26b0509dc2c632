"""What the semi-naive classifiers share: all columns as codes, joint counts as statistics, a structure to show."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from .. import views
from ..arrays import Array, Floats
from ..errors import ModelError, UnknownColumn, did_you_mean, listed
from ..estimator import AT_LEAST_1, ClassWeight, MaxMemory, NJobs, parameters
from ..fields import MAYBE
from ..smoothing.theta import Smoothing
from ..statistics.collect import collect_coded
from ..statistics.cuts import (
    METHODS,
    CodedTable,
    Cuts,
    code_known,
    from_bins,
    learn_cuts,
)
from ..statistics.statistics import Statistics
from ..structure.information import class_information
from ..structure.structures import Structure
from ..table.encode import Seen, dense
from ..table.frame import Frame
from ..table.schema import MEASURED, Schema
from .families import Families
from .tables import TableLearner

if TYPE_CHECKING:
    import pandas as pd


@parameters
class SemiNaive(TableLearner):
    """A classifier on coded columns: numbers are cut into bins, and what is stored are counts of several columns together.

    A model says whether it counts pairs (`_pairs_counted`) or more (`_finish`), how a row scores (`_score`) and who depends
    on whom (`_edges`).
    """

    _: KW_ONLY
    smoothing: Smoothing = 1.0
    kinds: Any = None
    cuts: Annotated[Any, StrOptions(set(METHODS)), Mapping] = "mdl"
    bins: Annotated[int, AT_LEAST_1] = 10
    class_weight: ClassWeight = None
    max_memory: MaxMemory = None
    n_jobs: NJobs = None
    _cuts_kept: Annotated[Cuts, MAYBE] = field(init=False)

    def _check_state(self) -> None:
        super()._check_state()
        self.statistics_.check_coded()
        self._check_joints(self.statistics_)

    def _check_joints(self, found: Statistics) -> None:
        """Refuse other joint counts than the model's: those of all pairs."""
        found.check_joint(0, list(combinations(range(len(found.schema)), 2)))

    def _finish(self, table: CodedTable, found: Statistics, y: Array, weights: Floats | None) -> Statistics:
        """The statistics of these rows with other joint counts than all pairs; what is learned but once is chosen here."""
        return found

    @property
    def _pairs_counted(self) -> bool:
        """Whether all pairs of columns are counted."""
        return True

    @abstractmethod
    def _score(self, table: CodedTable) -> Floats:
        """log P(y, x) of coded rows."""

    @abstractmethod
    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """(codes, class codes) of n rows of the model."""

    @abstractmethod
    def _edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child) to list and draw."""

    def _edge_weights(self) -> list[float] | None:
        """How strong each edge is, in nats, where that is known."""
        return None

    def _collect(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None) -> tuple[Statistics, Seen]:
        frame = dense(frame) if frame.sparse is not None else frame
        self._refuse_text(schema)
        how = self._pairs_counted, self.n_jobs, self.max_memory
        cuts = self._first_cuts(frame, schema, y, weights) if self._fresh else self.statistics_.cuts
        table, counted = collect_coded(frame, schema, cuts, y, weights, *how)
        return self._finish(table, counted, y, weights), Seen(table.n_missing)

    def _check_hidden(self, labels: bool) -> None:
        """Refuse to learn rows without a label, all of them so or not, where what is chosen needs labels."""

    @property
    def _learns_every_turn(self) -> bool:
        """Whether EM learns the structure anew in every turn; else what the labels chose stays."""
        return False

    def _first_cuts(self, frame: Frame, schema: Schema, y: Array, weights: Floats | None, method: Any = None) -> Cuts:
        """The cuts of the numeric columns, made by a method or told."""
        if isinstance(self.cuts, str):
            return learn_cuts(frame, schema, y, weights, method or self.cuts, self.bins)
        measured = [c.name for c in schema.columns if c.kind in MEASURED]
        unknown = [name for name in self.cuts if name not in measured]
        missing = [name for name in measured if name not in self.cuts]
        if unknown or missing:
            hint = did_you_mean(unknown[0], measured) if unknown else ""
            raise UnknownColumn(
                f"cuts must name every numeric column and no other: unknown {listed(unknown)}, "
                f"missing {listed(missing)}{hint}"
            )
        return tuple(_told(c.name, self.cuts[c.name]) if c.kind in MEASURED else None for c in schema.columns)

    def _stays(self, left: Statistics) -> dict[str, str]:
        found, told = super()._stays(left), {} if isinstance(self.cuts, str) else self.cuts
        learned = [name for name, cuts in self.cuts_.items() if not np.array_equal(cuts, told.get(name, [np.nan]))]
        if learned:
            found["cuts"] = f"where {listed(learned)} {'is' if len(learned) == 1 else 'are'} cut"
        if self._structure_stays:
            found["structure"] = "who depends on whom"
        return found

    @property
    def _structure_stays(self) -> bool:
        """Whether the first rows have chosen who depends on whom, once and for all."""
        return False

    @property
    def cuts_(self) -> dict[str, Floats]:
        """Where every numeric column is cut; fit another model with `cuts=` these to add the two."""
        return {n: c for n, c in zip(self.schema_.names, self.statistics_.cuts) if c is not None}

    def _coded(self, X: Any) -> CodedTable:
        """The border of prediction: rows as codes."""
        frame = self._open(X)
        frame = dense(frame) if frame.sparse is not None else frame
        return code_known(frame, self.schema_, self.statistics_.cuts, self.n_jobs)

    def _log_joint(self, X: Any) -> Floats:
        table = self._coded(X)
        out = self._score(table)
        self._seen = Seen(table.n_missing, table.n_unseen)
        return out

    @property
    def edges_(self) -> list[tuple[str, str]]:
        """Who depends on whom besides the class: (parent, child) by name."""
        names = self.schema_.names
        return [(names[p], names[i]) for p, i in self._edges()]

    def _information(self) -> Floats:
        """I(X;Y) of each column, in nats."""
        return class_information(self.statistics_.cells)

    def summary(self) -> pd.DataFrame:
        """The columns ranked by I(X;Y) in nats, with their kinds, values and parents."""
        import pandas as pd

        self._check_fitted()
        schema, parents = self.schema_, dict[str, list[str]]()
        for p, i in self.edges_:
            parents.setdefault(i, []).append(p)
        frame = pd.DataFrame(
            {
                "column": list(schema.names),
                "kind": list(schema.kinds),
                "values": list(self.statistics_.sizes),
                "parents": [", ".join(parents.get(n, [])) for n in schema.names],
                "information": self._information(),
            }
        )
        return frame.sort_values("information", ascending=False, kind="stable", ignore_index=True)

    def sample(self, n: int = 1, random_state: Any = None) -> tuple[Any, Array]:
        """(rows, classes) drawn from the model; a number is drawn uniformly from its bin.

        The outer bins, which have no end, are taken to be as wide as the bins between the cuts are on average.
        """
        self._check_fitted()
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        codes, y = self._draw(n, rng)
        columns: dict[int, Array] = {}
        for j, (column, cut) in enumerate(zip(self.schema_.columns, self.statistics_.cuts)):
            columns[j] = (
                from_bins(codes[:, j], cut, rng) if cut is not None else _from_values(codes[:, j], column.values)
            )
        return self._as_came(columns), self.classes_[y]

    def plot(self, ax: Any = None) -> Any:
        """Draw the dependence graph with matplotlib: the class above, edges as thick as their I(Xi;Xj|Y)."""
        self._check_fitted()
        return views.axes("a dependence graph", self, ax)

    def _repr_html_(self) -> str:
        return super()._repr_html_() if self._fresh else views.html("a dependence graph", self)


class OneStructure(SemiNaive):
    """A semi-naive classifier of one structure: who depends on whom, and the tables that follow."""

    structure_: Any

    @abstractmethod
    def _make_families(self) -> Families:
        """The structure with its tables."""

    @property
    def families_(self) -> Families:
        """The tables under the parameters of now."""
        return self._cached("families", self._make_families)

    def _edges(self) -> list[tuple[int, int]]:
        structure: Structure = self.structure_
        return list(structure.edges)

    def _score(self, table: CodedTable) -> Floats:
        return self.families_.log_joint(table, self.n_jobs)

    def _log_parts(self, X: Any) -> tuple[Floats, Floats] | None:
        parts = self.families_.parts(self._coded(X))
        return None if parts is None else (self.families_.log_prior, parts)

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        return self.families_.draw(n, rng)


def place_of(name: Any, names: tuple[str, ...], what: str) -> int:
    """The place of a column given by its name or its place."""
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and -len(names) <= name < len(names):
        return int(name) % len(names)
    if name not in names:
        hint = did_you_mean(name, names) or "."
        raise UnknownColumn(f"{what} names no column: {name!r}{hint} Columns: {listed(names)}")
    return names.index(name)


def _told(name: str, cuts: Any) -> Floats:
    try:
        cut = np.asarray(cuts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        cut = np.array(np.nan)
    if cut.ndim != 1 or not np.isfinite(cut).all() or (np.diff(cut) <= 0).any():
        raise ModelError(f"column {name!r}: cuts must be finite numbers in rising order. Got {cuts} instead.")
    return cut


def _from_values(codes: Array, values: tuple[Any, ...]) -> Array:
    if not values:
        return np.full(len(codes), None, dtype=object)
    listed_values = np.empty(len(values), dtype=object)
    listed_values[:] = values
    return listed_values[codes]

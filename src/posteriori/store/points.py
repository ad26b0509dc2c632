"""Points in a file: kernels without functions, neighbours by their rows, whose indices are built again; and losses."""

from __future__ import annotations

import copy
import os
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..decision.loss import as_loss
from ..errors import NotStorable
from ..estimator import Estimator
from ..fields import UNBOUNDED, AnyFloats, Within, need
from .forms import Fields, Form, estimator, twin, value

if TYPE_CHECKING:  # whoever reads a machine needs no neighbours, and the other way round
    from ..decision.classifier import RiskClassifier
    from ..margin.kernel import Kernel
    from ..neighbors.kdtree import KDTree
    from ..neighbors.knn import Neighbors

TOLD = {"p", "w", "V", "VI", "missing_values"}  # parameters of metrics; others could ask for threads or files


@dataclass(frozen=True, eq=False)
class StoredTree:
    """A k-d tree by its points."""

    points: Annotated[AnyFloats, "rows d"]
    metric: Literal["euclidean", "manhattan", "chebyshev", "minkowski"]
    p: Annotated[float, UNBOUNDED]
    leaf_size: Annotated[int, Within(0, 1 << 20)]
    n_jobs: int | None

    @classmethod
    def of(cls, tree: Any) -> StoredTree:
        """The points of a tree."""
        return cls(tree.data, tree.metric, tree.p, tree.leaf_size, tree.n_jobs)

    def made(self) -> KDTree:
        """The tree of these points."""
        from ..neighbors.kdtree import KDTree

        return KDTree(self.points, self.metric, self.p, leaf_size=self.leaf_size, n_jobs=self.n_jobs)


def kernel(cls: type[Kernel]) -> Form:
    """The form of a kernel: of functions only our own can be made again."""
    from ..margin.kernel import manhattan

    form = value(cls)

    def take(held: Kernel) -> Fields:
        own = isinstance(held.function, partial) and held.function.func is manhattan
        if held.function is not None and not own:
            raise NotStorable(
                f"a model file holds no code, so no kernel that is a function ({held.function!r:.80}): "
                "fit with the name of a kernel, or keep the function yourself and pass kernel='precomputed'"
            )
        return form.take(held)

    def make(fields: Fields) -> Kernel:
        held: Kernel = form.make(fields)
        if held.spec is not None and held.sparse and held.spec.kind == "manhattan":
            return replace(held, function=partial(manhattan, held.spec.scale))
        return held

    return Form(cls, take, make)


def neighbors(cls: type[Neighbors]) -> Form:
    """The form of neighbours, with the rows in the place of their index."""
    from ..neighbors.kdtree import Store

    form = estimator(cls)

    def take(model: Neighbors) -> Fields:
        if strange := [name for name in model.metric_params or {} if name not in TOLD]:
            raise NotStorable(f"metric_params: a model file holds {sorted(TOLD)}. Got {strange[0]!r} instead.")
        fields = form.take(model)
        if "_store" in vars(model):
            model._same_metric()  # else the rows could not be indexed again
            fields["_rows"] = model._store.rows
        return fields

    def make(fields: Fields) -> Neighbors:
        told = fields.get("metric_params") or {}
        need(isinstance(told, dict) and set(told) <= TOLD, "metric_params that no model file holds")
        rows = fields.pop("_rows", None)
        model: Neighbors = form.make(fields)
        need((rows is not None) == ("_space" in vars(model)), "what is fitted must have rows")
        if rows is not None:
            model._check_rows(rows)
            model._store = Store(rows, model._index)
        return model

    return Form(cls, take, make)


def risk(cls: type[RiskClassifier]) -> Form:
    """The form of a classifier that decides; a loss that is the name of a file becomes what the file says."""
    form = estimator(cls)

    def take(model: RiskClassifier) -> Fields:
        if isinstance(model.loss, str | os.PathLike):
            model = copy.copy(model)
            model.loss = as_loss(model.loss, ())
        if "estimator_" in vars(model):
            _ = model.actions_  # what could not be loaded is not saved
        return form.take(model)

    def make(fields: Fields) -> Any:
        need(not isinstance(fields.get("loss"), str), "a loss must be numbers, not the name of a file")
        return form.make(fields)

    return Form(cls, take, make)


def frozen(cls: type) -> Form:
    """The form of an estimator that is not to learn any more."""

    def take(held: Any) -> Fields:
        if not isinstance(held.estimator, Estimator):
            raise NotStorable(
                f"a FrozenEstimator of {type(held.estimator).__qualname__!r} cannot be held: a model file has estimators "
                "of posteriori alone"
            )
        return {"estimator": held.estimator}

    def make(fields: Fields) -> Any:
        need(list(fields) == ["estimator"], "a FrozenEstimator must have the field 'estimator' alone")
        need(isinstance(fields["estimator"], Estimator), "a frozen estimator must be one of posteriori")
        return cls(**fields)

    return Form(cls, take, make)


FORMS = {
    "KDTree": partial(twin, StoredTree),
    "Kernel": kernel,
    "KNeighborsClassifier": neighbors,
    "KNeighborsRegressor": neighbors,
    "RiskClassifier": risk,
    "FrozenEstimator": frozen,
}

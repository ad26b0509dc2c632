"""Everything that can be asked of a model that came out of a file: each answer is a result, or an error by name."""

from __future__ import annotations

import inspect
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

import posteriori as po
from posteriori.errors import PosterioriError

from .models import C, P, T, X, Z, y

LEFT = {
    *("fit", "fit_em", "fit_predict", "fit_transform", "from_counts", "from_table", "from_parents", "from_dict"),
    *("infer", "declare", "per_class", "zero_one", "read"),  # make another model
    *("plot", "plot_margin", "margins"),  # pictures of rows
    "write",  # writes
    *("get_metadata_routing", "set_output", "get_params", "set_params", "seen", "nearest"),
}


def rows_of(model: Any) -> tuple[Any, Any]:
    """Rows as the model learned them, as far as that can be seen, and labels."""
    names = list(vars(model).get("feature_names_in_", ()))
    if names == ["note"]:
        return {"note": ["a c", "b", "a"]}, ["x", "y", "z"]
    if names == list("abc"):
        return pd.DataFrame(P, columns=names), y
    if "wind" in names:
        return X, y
    if "statistics_" in vars(model) and hasattr(model.statistics_, "joints"):
        return Z, Z["sky"]
    if names:
        return pd.DataFrame(np.resize(P, (90, len(names))), columns=names), y
    width = vars(model).get("n_features_in_", vars(model).get("n_features_in_", 3))
    known = {3: P, 4: C, 90: P[:, :1] * P[:, 0]}
    if width not in known:
        return np.arange(4 * min(width, 99)).reshape(4, -1) % 5, np.arange(4) % 2
    rows = known[width]
    if getattr(model, "metric", "") == "jaccard":
        rows = P > 0
    numbers = isinstance(model, po.SVR | po.KNeighborsRegressor)
    if not numbers:
        return rows, y
    flat = vars(model).get("_flat", True)
    return rows, T if flat else np.stack([T, -T], axis=1)


def of_an_estimator(model: Any) -> dict[str, Callable[[], Any]]:
    """How each method of an estimator is called; those that learn come last."""
    rows, labels = rows_of(model)
    one = (
        rows.iloc[0].to_dict()
        if isinstance(rows, pd.DataFrame)
        else {k: v[0] for k, v in rows.items()}
        if isinstance(rows, dict)
        else rows[:1]
    )
    some = rows[:5] if not isinstance(rows, dict) else rows
    few = list(labels)[: len(some) if not isinstance(rows, dict) else 3]
    told: dict[str, Callable[[], Any]] = {
        "explain": lambda: repr(model.explain(one, **({} if hasattr(model, "statistics_") else {"background": some}))),
        "sample": lambda: model.sample(3, **({} if isinstance(model, po.GaussianMixture) else {"random_state": 0})),
        "score": lambda: model.score(some, model.predict(some)),
        "kneighbors": lambda: model.kneighbors(None if hasattr(model, "_flat") else some),
        "kneighbors_graph": lambda: model.kneighbors_graph(some),
        "risk_coverage": lambda: model.risk_coverage(rows, list(labels)),
        "reject_price": lambda: model.reject_price(rows, list(labels), coverage=0.5),
        "bayes_risk": lambda: model.bayes_risk(rows),
        "bic": lambda: model.bic(some),
        "aic": lambda: model.aic(some),
        "credible_intervals": lambda: model.credible_intervals(),
        "profile": lambda: model.profile(),
        "summary": lambda: model.summary(),
        "get_feature_names_out": lambda: model.get_feature_names_out(),
    }
    for name in (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "predict_joint_log_proba",
        "score_samples",
        "transform",
    ):
        told[name] = lambda name=name: getattr(model, name)(some)
    for name in ("decision_function", "predict_risk"):
        told[name] = lambda name=name: getattr(model, name)(some)
    learns = {
        "partial_fit": lambda: model.partial_fit(some, few),
        "forget": lambda: model.forget(some, few),
        "decay": lambda: model.decay(0.5),
        "__add__": lambda: model + model,
    }
    return told | learns


def of_a_network(net: Any) -> dict[str, Any]:
    """The arguments of a network's methods, by name."""
    numbers = set(getattr(net, "continuous", ()))
    nodes = list(net.nodes)
    plain = [n for n in nodes if n not in numbers]
    state = net.states(plain[0])[0] if plain and hasattr(net, "states") else None
    evidence = (
        {nodes[-1]: 0.5 if nodes[-1] in numbers else net.states(nodes[-1])[0]}
        if nodes and hasattr(net, "states")
        else {}
    )
    data = Z if set(nodes) <= set(Z.columns) else X
    first, last = (plain[0], nodes[-1]) if plain else (nodes[0], nodes[-1]) if nodes else ("a", "b")
    return {
        "node": last, "nodes": [first], "evidence": evidence, "target": first, "state": state,
        "cases": {n: [v, v] for n, v in evidence.items()}, "data": data, "n": 3, "draws": 50, "random_state": 0,
        "given": (), "a": first, "b": last, "c": first, "middle": last, "observed": [last],
        "other": getattr(net, "dag", net), "interventions": evidence, "kind": None, "loss": None,
        "smoothing": 1.0, "burn_in": 5, "chains": 1,
    }  # fmt: skip


def of_a_value(model: Any) -> dict[str, Callable[[], Any]]:
    """How each method of a value that is no estimator is called."""
    if isinstance(model, po.KDTree):
        Q = np.zeros((2, model.data.shape[1]), model.dtype)
        return {
            "query": lambda: model.query(Q, k=1),
            "query_radius": lambda: model.query_radius(Q, 1.0),
            "count": lambda: model.count(Q, 1.0),
        }
    if isinstance(model, po.Loss):
        return {
            "with_reject": lambda: model.with_reject(0.5),
            "over": lambda: model.over(range(model.matrix.shape[1])),
            "labels": lambda: model.labels(),
            "without_reject": lambda: model.without_reject(),
        }
    if isinstance(model, po.Schema):
        return {
            "index": lambda: model.index("sky"),
            "__add__": lambda: model + model,
            "to_dict": lambda: model.to_dict(),
        }
    known = of_a_network(model)
    found: dict[str, Callable[[], Any]] = {
        "__add__": lambda: model + model,
        "do": lambda: model.do(known["interventions"]),
    }
    for name, method in inspect.getmembers(model, inspect.ismethod):
        wanted = inspect.signature(method).parameters
        if name not in LEFT and not name.startswith("_"):
            needed = [
                p for p, v in wanted.items() if v.default is v.empty or p in ("evidence", "random_state", "draws")
            ]
            found.setdefault(name, lambda m=method, ps=needed: _drained(m(**{p: known[p] for p in ps if p in known})))
    return found


def _drained(found: Any) -> Any:
    return list(found) if inspect.isgenerator(found) else found


def uses(model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """(name, call) of everything that is public: what it shows first, what learns last."""
    yield "repr", lambda: repr(model)
    if hasattr(type(model), "_repr_html_"):
        yield "html", lambda: model._repr_html_() if callable(model._repr_html_) else None
    estimator = hasattr(model, "get_params")
    told = of_an_estimator(model) if estimator else of_a_value(model)
    members = [n for n in dir(type(model)) if not n.startswith("_") and n not in LEFT and not n.endswith("_request")]
    for name in members:
        if isinstance(inspect.getattr_static(type(model), name), property) or hasattr(
            inspect.getattr_static(type(model), name), "func"
        ):
            yield name, lambda name=name: getattr(model, name)
    learns = ("partial_fit", "forget", "decay", "__add__")
    for name in [*(n for n in told if n not in learns), *learns]:
        if name in told and (name in members or name == "__add__") and hasattr(model, name):
            yield name, told[name]
    if estimator and hasattr(model, "predict_proba"):
        yield "sql", lambda: po.sql(model, "t")
    yield "save", lambda: _saved(model)


def _saved(model: Any) -> None:
    from posteriori.store.file import from_bytes, to_bytes

    from_bytes(bytearray(b"".join(map(bytes, to_bytes(model)))))


def answered(name: str, call: Callable[[], Any]) -> None:
    """Ask; what comes is a result or an error by name, of which the message says something."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = call()
    except PosterioriError as error:
        if len(str(error)) < 10:
            raise AssertionError(f"{type(error).__name__} says nothing: {error}") from error
        return
    except NotFittedError:
        return  # scikit-learn's own word for it
    except AttributeError as error:
        if traceback.extract_tb(error.__traceback__)[-1].name == name:
            return  # what this model has not
        raise
    if name == "predict_proba":
        assert np.isfinite(found).all(), "a posterior that is no number"
        np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)

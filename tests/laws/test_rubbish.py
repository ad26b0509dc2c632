"""Rubbish in any parameter is named, never a crash deep inside: each public estimator and function is fed all of it.

A parameter is read at `fit`, and after a change again when the model next predicts. What may come of rubbish: a
`PosterioriError` (or scikit-learn's own `ValueError`) that names the parameter, or an answer that is finite.
"""

from __future__ import annotations

import inspect
import io
import os
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

import posteriori as po
from posteriori.errors import PosterioriError

X = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [2, 1], [1, 2], [2, 2], [0, 2]] * 3)
Y = np.array([0, 1, 1, 0, 1, 0, 1, 0] * 3)
RUBBISH: dict[str, Any] = {
    "nan": np.nan,
    "inf": np.inf,
    "minus inf": -np.inf,
    "a word": "no",
    "no word": "",
    "bytes": b"no",
    "minus one": -1,
    "zero": 0,
    "a fraction": 2.5,
    "a complex number": 1j,
    "none": None,
    "true": True,
    "an object": object(),
    "no list": [],
    "a list of words": ["a", "b"],
    "a list of nothing": [None],
    "lists of different lengths": [[1.0], [1.0, 2.0]],
    "an empty array": np.zeros(0),
    "an array of NaN": np.full(2, np.nan),
    "a dict": {"no": "no"},
    "a dict of rubbish": {0: None, "x": np.nan},
    "a function": lambda *_: None,
    "a set": {1, 2},
    "more than 64 bits": 10**30,
    "less than 64 bits": -(10**30),
    "a huge number": 1e300,
}
ENDLESS = {"more digits than Python prints": -(10**5000)}  # which Python itself refuses to put into a message
LEAST = {"the least number": 5e-324}
WRAPPED = {"RiskClassifier": lambda cls: cls(po.GaussianNB())}


def estimators() -> list[type]:
    """Every public estimator."""
    public = [getattr(po, name) for name in po.__all__]
    return [thing for thing in public if inspect.isclass(thing) and issubclass(thing, BaseEstimator)]


def make(cls: type) -> Any:
    return WRAPPED.get(cls.__name__, lambda c: c())(cls)


CASES = [(cls, name) for cls in estimators() for name in sorted(make(cls).get_params(deep=False))]


def answers(model: Any) -> None:
    """All that a model says of rows is finite (a log-probability may be −∞)."""
    said = [model.predict(X)]
    if hasattr(model, "predict_proba"):
        posterior = model.predict_proba(X)
        assert np.allclose(posterior.sum(axis=1), 1.0)
        said.append(posterior)
    for found in said:
        assert found.dtype.kind in "OUSb" or np.isfinite(found).all()


def outcome(call: Callable[[], Any], name: str) -> str:
    """What is wrong with what came of a call, or nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except (PosterioriError, ValueError) as error:
        ours = isinstance(error, PosterioriError)
        if not ours and isinstance(error, TypeError):
            return f"{type(error).__name__}: {error}"
        return "" if name in str(error) else f"does not name {name}: {type(error).__name__}: {error}"
    except Exception as error:  # whatever else comes is what must not
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize(("cls", "name"), CASES, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_rubbish_in_a_parameter_of_an_estimator(cls: type, name: str) -> None:
    learned = make(cls).fit(X, Y * 1.0 if is_regressor(make(cls)) else Y)
    answers(learned)
    wrong = {}
    for what, rubbish in (RUBBISH | ENDLESS).items():
        fresh = clone(make(cls))
        setattr(fresh, name, rubbish)
        wrong[f"fit with {what}"] = outcome(lambda: answers(fresh.fit(X, Y)), name)  # noqa: B023
        before = getattr(learned, name)
        setattr(learned, name, rubbish)
        wrong[f"predict with {what}"] = outcome(lambda: answers(learned), name)
        setattr(learned, name, before)
        answers(learned)
    assert {what: said for what, said in wrong.items() if said} == {}


POSTERIOR = np.array([[0.7, 0.3], [0.2, 0.8]])
LOSS = po.Loss([[0, 1], [10, 0]], classes=["ham", "spam"])
SEEN = {"posterior": POSTERIOR, "loss": [[0, 1], [10, 0]], "classes": ["ham", "spam"]}
TOLD = {"y_true": ["ham", "spam"], "y_pred": ["spam", "spam"], "loss": LOSS, "classes": ["ham", "spam"]}
FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "decide": (po.decide, {**SEEN, "reject_label": "?"}),
    "risk": (po.risk, SEEN),
    "bayes_risk": (po.bayes_risk, {**SEEN, "sample_weight": [1.0, 2.0]}),
    "mean_loss": (po.mean_loss, {**TOLD, "reject_label": "?", "sample_weight": [1.0, 2.0]}),
    "risk_coverage": (po.risk_coverage, {**SEEN, "y": ["ham", "spam"]}),
    "reject_price": (po.reject_price, {**SEEN, "y": ["ham", "spam"], "coverage": 0.5}),
    "reliability": (
        po.reliability,
        {k: SEEN[k] for k in ("posterior", "classes")} | {"y": ["ham", "spam"], "target": "ham", "bins": 5},
    ),
    "calibration_error": (
        po.calibration_error,
        {k: SEEN[k] for k in ("posterior", "classes")}
        | {"y": ["ham", "spam"], "bins": 5, "sample_weight": [1.0, 2.0]},
    ),
    "temperature": (
        po.temperature,
        {k: SEEN[k] for k in ("posterior", "classes")} | {"y": ["ham", "spam"], "sample_weight": [1.0, 2.0]},
    ),
    "tempered": (po.tempered, {k: SEEN[k] for k in ("posterior", "classes")} | {"T": 2.0}),
    "reject_price of a risk": (po.reject_price, {**SEEN, "risk": 0.5}),
    "Loss": (po.Loss, {"matrix": [[0, 1], [1, 0]], "classes": [0, 1], "actions": ["a", "b"], "reject": False}),
    "Loss.zero_one": (po.Loss.zero_one, {"classes": 2}),
    "Loss.per_class": (po.Loss.per_class, {"costs": {"a": 1.0}}),
    "Loss.from_table": (po.Loss.from_table, {"table": {"a": {"a": 0}}, "rows": "actions", "classes": None}),
    "Loss.with_reject": (LOSS.with_reject, {"price": 0.3}),
    "Loss.over": (LOSS.over, {"classes": ["spam", "ham"]}),
    "Loss.labels": (LOSS.with_reject(1).labels, {"reject_label": "?"}),
    "Schema.declare": (po.Schema.declare, {"columns": {"a": "numeric"}, "classes": [0], "target": None}),
    "Schema.infer": (po.Schema.infer, {"X": {"a": [1.0, 2.0]}, "y": [0, 1], "kinds": {"a": "numeric"}}),
    "KDTree": (po.KDTree, {"X": X[:8], "leaf_size": 2, "metric": "euclidean", "p": 2.0, "n_jobs": 1}),
    "KDTree.query": (po.KDTree(X[:8]).query, {"Q": X[:2], "k": 2, "skip": [0, 1]}),
    "KDTree.query_radius": (po.KDTree(X[:8]).query_radius, {"Q": X[:2], "r": 1.0}),
    "read": (
        lambda content="a,b\n1,x\n2,y\n", **options: po.read(io.StringIO(content), **options),
        {"target": "b", "kinds": None, "sql": None, "encoding": "utf-8", "missing": None, "decimal": ".", "header": None,
         "format": None},
    ),
}  # fmt: skip
SEARCHED = {
    "data": {"rain": ["no", "yes", "no", "no"] * 5, "wet": ["no", "yes", "yes", "no"] * 5, "c": ["a", "b"] * 10},
    "score": "bic", "random_state": 0, "time_limit": None, "progress": False, "required": (), "forbidden": (),
    "tiers": None, "max_parents": None, "sample_weight": None, "n_jobs": 1, "max_memory": None,
}  # fmt: skip
CHAIN = po.Dag(["rain", "wet", "c"], [("rain", "wet"), ("wet", "c")])
FUNCTIONS |= {
    "learn_structure": (
        po.learn_structure,
        {
            **SEARCHED,
            "method": "hill-climb",
            "start": None,
            "parent_of_all": None,
            "tabu": 0,
            "restarts": 0,
            "ess": 1.0,
        },
    ),
    "learn_structure by tests": (po.learn_structure, {**SEARCHED, "method": "pc", "test": "g2", "alpha": 0.05}),
    "learn_structure in order": (
        po.learn_structure,
        {"data": SEARCHED["data"], "method": "k2", "order": ["rain", "wet", "c"]},
    ),
    "score_structure": (
        po.score_structure,
        {k: SEARCHED[k] for k in ("data", "score", "sample_weight", "n_jobs", "max_memory")} | {"dag": CHAIN, "ess": 1.0},
    ),
    "arc_confidence": (
        po.arc_confidence,
        {k: SEARCHED[k] for k in ("data", "score", "random_state", "time_limit", "progress")} | {"n": 2},
    ),
    "cross_validate": (
        po.cross_validate,
        {"data": SEARCHED["data"], "structure": CHAIN, "folds": 2, "smoothing": 1.0, "random_state": 0},
    ),
    "compare_structures": (po.compare_structures, {"found": CHAIN, "true": CHAIN}),
    "structural_em": (
        po.structural_em,
        SEARCHED
        | {
            "start": None,
            "hidden": None,
            "smoothing": 1.0,
            "states": None,
            "draws": 2,
            "max_iter": 2,
            "progress": None,
        },
    ),
    "expectation_maximization": (
        po.expectation_maximization,
        {
            "model": po.NaiveBayes(kinds="categorical", unlabelled=-1),
            "X": {"a": ["p", "q", "p", "q"] * 3, "b": ["u", "u", "v", "v"] * 3},
            "y": [0, 1, -1, -1] * 3,
            "sample_weight": np.ones(12),
            "n_classes": None,
            "hard": False,
            "start": None,
            "n_init": 1,
            "tol": 1e-6,
            "max_iter": 3,
            "batch_size": None,
            "decay": 0.7,
            "random_state": 0,
            "progress": None,
        },
    ),
    "loss_scorer": (
        lambda **options: po.loss_scorer(**options)(po.GaussianNB().fit(X, Y), X, Y),
        {"loss": [[0, 1], [1, 0]], "classes": [0, 1], "reject_label": "?"},
    ),
    "compare": (
        po.compare,
        {"X": {"a": ["u", "v"] * 6}, "y": [0, 1] * 6, "models": ["baseline"], "loss": None, "reject": 0.4, "cv": 2,
         "seed": 0, "sample_weight": np.ones(12), "kinds": None, "time_limit": 9.0, "progress": None},
    ),
    "save": (
        lambda model: po.save(model, os.path.join(tempfile.gettempdir(), "posteriori-rubbish.posteriori")),
        {"model": po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1])},
    ),
    "load": (lambda path: None if path == "no" else po.load(path), {"path": __file__}),  # there is no file of that name
    "sql": (po.sql, {"model": po.NaiveBayes().fit({"a": ["u", "v"]}, [0, 1]), "table": "t", "dialect": "duckdb"}),
    "write_report": (
        lambda **options: po.write_report(os.path.join(tempfile.gettempdir(), "posteriori-rubbish.html"), **options),
        {"model": po.NaiveBayes().fit({"a": ["u", "v"] * 4}, [0, 1] * 4), "X": {"a": ["u", "v"] * 4}, "y": [0, 1] * 4,
         "posterior": np.full((8, 2), 0.5), "leaderboard": None, "loss": None, "reject": 0.4, "title": "t",
         "with_rows": False, "warnings": ["w"], "hashes": {"a": "b"}, "folds": 2, "seed": 0},
    ),
    "Not": (lambda state: po.networks.asia().query("lung", {"smoke": po.Not(state)}), {"state": "yes"}),
}  # fmt: skip
for cls in estimators():
    model = make(cls)
    model.fit(X, Y)
    FUNCTIONS[f"{cls.__name__}.fit"] = (clone(model).fit, {"X": X, "y": Y, "sample_weight": np.ones(len(Y))})
    FUNCTIONS[f"{cls.__name__}.predict"] = (model.predict, {"X": X})
    if hasattr(model, "partial_fit"):
        options = {"X": X, "y": Y, "sample_weight": np.ones(len(Y))}
        options |= {"classes": [0, 1]} if is_classifier(model) else {}
        FUNCTIONS[f"{cls.__name__}.partial_fit"] = (clone(model).partial_fit, options)
    if hasattr(model, "decay"):
        FUNCTIONS[f"{cls.__name__}.decay"] = (model.decay, {"factor": 1.0})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rubbish_in_an_argument_of_a_function(function: str) -> None:
    call, good = FUNCTIONS[function]
    wrong = {}
    for name in good:
        for what, rubbish in (RUBBISH | ENDLESS | LEAST).items():
            wrong[f"{name} is {what}"] = outcome(lambda: call(**{**good, name: rubbish}), "")  # noqa: B023
    assert {what: said for what, said in wrong.items() if said} == {}


def a_net() -> po.BayesNet:
    tables = {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"no": 0.9, "yes": 0.1}, "yes": {"no": 0.3, "yes": 0.7}}}
    return po.BayesNet([("rain", "wet")], tables)


def a_hybrid() -> po.HybridNet:
    return po.HybridNet([("rain", "wet")], {"rain": {"no": 0.8, "yes": 0.2}}, {"wet": ([0.0, 1.0], [], 1.0)})


ARROWS = [("rain", "wet")]
ASKED: dict[str, Any] = {
    "a": "rain", "b": "wet", "given": (), "node": "rain", "nodes": ["rain", "wet"], "middle": "wet", "c": "rain",
    "kind": None, "edges": ARROWS, "dag": ARROWS, "parents": {"rain": [], "wet": ["rain"]}, "tables": {}, "states": None,
    "name": "n", "evidence": {"wet": "yes"}, "target": "rain", "state": "yes", "cases": {"wet": ["yes", "no"]},
    "data": {"rain": ["no", "yes"], "wet": ["no", "yes"]}, "counts": {"rain": [2, 1], "wet": [[1, 1], [0, 1]]},
    "smoothing": 1.0, "sample_weight": None, "loss": None, "observed": ["wet"], "n": 3, "draws": 200, "burn_in": 10,
    "thin": 1, "chains": 2, "random_state": 0, "n_jobs": 1, "max_memory": None, "path": "no such file.bif",
    "sizes": {"rain": 2, "wet": 2}, "other": a_net().dag, "ess": None, "backoff": None, "hidden": None, "start": None,
    "restarts": None, "tol": 1e-3, "max_iter": 3, "progress": None, "interventions": {"wet": "yes"},
    "impossible": "raise", "keep": False, "pure": False,
}  # fmt: skip
HYBRID = ASKED | {
    "nodes": ["rain"], "node": "wet", "evidence": {"wet": 0.5}, "cases": {"wet": [0.5, 1.0]}, "continuous": ["wet"],
    "data": {"rain": ["no", "yes", "no"], "wet": [0.5, 1.5, 0.25]}, "tables": {"rain": [0.8, 0.2]},
    "regressions": {"wet": ([0.0, 1.0], [], 1.0)},
}  # fmt: skip
NETWORKS = ["BayesNet", "Dag", "HybridNet"] + [
    f"{type(thing).__name__}.{name}"
    for thing in (a_net(), a_net().dag, a_hybrid())
    for name, method in inspect.getmembers(thing, inspect.ismethod)
    if not name.startswith("_") and inspect.signature(method).parameters and name not in ("write", "plot")
]


@pytest.mark.parametrize("function", NETWORKS)
def test_rubbish_in_an_argument_of_a_network(function: str) -> None:
    """What is refused is refused in our own words: a `PosterioriError`, or that there is no such file."""
    of, _, method = function.partition(".")
    its: Any = {"BayesNet": a_net(), "Dag": a_net().dag, "HybridNet": a_hybrid()}[of]
    if method in ("partial_fit", "forget", "smoothed"):
        its = type(its).fit(ARROWS, {k: v * 30 for k, v in (HYBRID if of == "HybridNet" else ASKED)["data"].items()})
    call, wrong = getattr(its, method) if method else getattr(po, of), {}
    names = list(inspect.signature(call).parameters)
    good = {name: (HYBRID if of == "HybridNet" else ASKED)[name] for name in names}
    if function == "BayesNet":
        good["tables"] = {"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.3, 0.7]]}
    for name in names:
        for what, rubbish in RUBBISH.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(**{**good, name: rubbish})
            except (PosterioriError, OSError):
                pass
            except Exception as error:  # whatever else comes is what must not
                wrong[f"{name} is {what}"] = f"{type(error).__name__}: {error}"
    assert wrong == {}


def test_every_public_name_is_fed_rubbish() -> None:
    fed = {name.split(".")[0].split(" ")[0] for name in [*FUNCTIONS, *NETWORKS]} | {
        cls.__name__ for cls in estimators()
    }
    # errors are raised, not called; the functions of networks take nothing; those of plot draw what others have checked
    assert set(po.__all__) - fed == {"__version__", "errors", "networks", "plot"}

"""What a naive Bayes model shows: tables, ranks, intervals. No arithmetic of the model lives here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import Floats
from ..smoothing import theta
from .densities import Categories
from .densities.choice import CANDIDATES
from .factored import DENSITIES, USUAL

if TYPE_CHECKING:
    import pandas as pd

    from .naive import NaiveBayes


def tables(model: NaiveBayes) -> dict[str, pd.DataFrame]:
    """P(y), then a frame for each column."""
    import pandas as pd

    factored = model.factored_
    classes = list(model.schema_.classes)
    out = {
        class_key(model): pd.DataFrame(
            {"P": np.exp(factored.log_prior)}, index=pd.Index(classes, name="class", tupleize_cols=False)
        )
    }
    found: dict[str, Any] = {}
    for density in factored.densities:
        found.update(density.tables(model.schema_))
    for name in model.schema_.names:
        rows = found[name]
        out[name] = pd.DataFrame(
            np.array(list(rows.values())).reshape(len(rows), len(classes)),
            index=pd.Index(list(rows), name=name, dtype=object, tupleize_cols=False),
            columns=pd.Index(classes, name="class", tupleize_cols=False),
        )
    return out


def class_key(model: NaiveBayes) -> str:
    """What P(y) is called among the columns: "class", or "(class)" where a column has that name."""
    return "(class)" if "class" in model.schema_.names else "class"


def summary(model: NaiveBayes) -> pd.DataFrame:
    """A row for each column, most telling first."""
    import pandas as pd

    factored, schema = model.factored_, model.schema_
    prior = np.exp(factored.log_prior)
    information = np.zeros(len(schema))
    for density in factored.densities:
        information[density.where] = density.information(prior)
    frame = pd.DataFrame(
        {
            "column": list(schema.names),
            "kind": list(schema.kinds),
            "values": [len(c.values) for c in schema.columns],
            "information": information,
        }
    )
    if any(told != USUAL[c.kind] for told, c in zip(factored.names, schema.columns)):
        frame.insert(2, "density", [told if told in DENSITIES or told in CANDIDATES else "" for told in factored.names])
    return frame.sort_values("information", ascending=False, kind="stable", ignore_index=True)


def credible_intervals(model: NaiveBayes, level: float) -> pd.DataFrame:
    """Beta(N + λ, N_rest + (S−1)λ) quantiles of every categorical θ and of P(y)."""
    import pandas as pd
    from scipy.stats import beta

    if not 0 < level < 1:
        raise ValueError(f"level lies between 0 and 1. Got {level} instead.")
    tail, lam, classes = (1 - level) / 2, float(model.smoothing), model.schema_.classes
    rows: list[tuple[Any, ...]] = []

    def add(column: str, values: Any, counts: Floats, labels: Any) -> None:
        total = counts.sum(axis=0)
        a, b, mean = counts + lam, total - counts + (len(counts) - 1) * lam, theta(counts, lam, axis=0)
        low = np.where(a > 0, beta.ppf(tail, np.maximum(a, 1e-12), np.maximum(b, 1e-12)), 0.0)
        high = np.where(b > 0, beta.ppf(1 - tail, np.maximum(a, 1e-12), np.maximum(b, 1e-12)), 1.0)
        for i, value in enumerate(values):
            rows.extend((column, value, c, mean[i, k], low[i, k], high[i, k]) for k, c in enumerate(labels))

    add(class_key(model), classes, np.asarray(model.class_count_, dtype=float)[:, None], [None])
    for density in model.factored_.densities:
        if isinstance(density, Categories):
            for k, column in enumerate(density.columns):
                add(column.name, density.names(k), density.counts.scope(k).astype(float), classes)
    return pd.DataFrame(rows, columns=["column", "value", "class", "mean", "low", "high"])


def drawn(model: NaiveBayes, columns: dict[int, NDArray[Any]]) -> Any:
    """Sampled columns as the caller's kind of table: a frame where training had names, else a matrix."""
    ordered = [columns[j] for j in range(len(model.schema_))]
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        return pd.DataFrame(dict(zip(model.schema_.names, ordered))).infer_objects()
    same = {c.dtype.kind for c in ordered} <= set("iuf")
    made = np.empty((len(ordered[0]), len(ordered)), dtype=float if same else object)
    for j, column in enumerate(ordered):
        made[:, j] = column
    if same:
        return made
    numeric = all(isinstance(v, int | float) for v in made.ravel())
    return made.astype(float if any(isinstance(v, float) for v in made.ravel()) else int) if numeric else made

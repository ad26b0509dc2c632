"""`posteriori demo`: the whole way, on a table that comes with scikit-learn."""

from __future__ import annotations

import pathlib
import tempfile

from .explain import run_explain
from .render import console, line
from .train import run_train


def run_demo() -> None:
    """Write the table and the costs, train, explain a doubtful row; say each command before it runs."""
    from sklearn.datasets import load_breast_cancer

    out, room = console(), pathlib.Path(tempfile.mkdtemp(prefix="posteriori-demo-"))
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(tumour=data.target.map({0: "malignant", 1: "benign"}))
    table.to_csv(room / "tumours.csv", index=False)
    (room / "costs.csv").write_text("decided\\truth,benign,malignant\nbenign,0,20\nmalignant,1,0\n")
    line(out, f"a missed tumour costs 20 false alarms, a second look half of one; files in {room}", "dim")
    line(out, "$ posteriori train tumours.csv --target tumour --loss costs.csv --reject 0.5 --cv 5", "bold")
    model = str(room / "tumours.posteriori")
    run_train(
        str(room / "tumours.csv"), "tumour", model, None, None, None, None, None, str(room / "costs.csv"), 0.5, 5, None, 0,
        False, False,
    )  # fmt: skip
    line(out)
    line(out, "$ posteriori explain tumours.posteriori tumours.csv --row 14", "bold")
    run_explain(model, str(room / "tumours.csv"), 14, None, None, False)

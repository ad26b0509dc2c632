"""`posteriori demo`: the whole way, on a table that comes with scikit-learn."""

from __future__ import annotations

import pathlib
import tempfile

from ..errors import WriteError
from .explain import run_explain
from .render import console, line
from .train import run_train


def run_demo(into: str | None = None) -> None:
    """Write the table and the costs, train with a report, explain a doubtful row; say each command before it runs."""
    from sklearn.datasets import load_breast_cancer

    out = console()
    room = pathlib.Path(into) if into is not None else pathlib.Path(tempfile.mkdtemp(prefix="posteriori-demo-"))
    if room.exists() and not room.is_dir():
        raise WriteError(f"{room} is a file: --into names a folder")
    room.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer(as_frame=True)
    table = data.data.assign(tumour=data.target.map({0: "malignant", 1: "benign"}))
    table.to_csv(room / "tumours.csv", index=False)
    (room / "costs.csv").write_text("decided\\truth,benign,malignant\nbenign,0,20\nmalignant,1,0\n")
    line(out, f"a missed tumour costs 20 false alarms, a second look half of one; files in {room}", "dim")
    words = "tumours.csv --target tumour --loss costs.csv --reject 0.5 --cv 5 --report report.html"
    line(out, f"$ posteriori train {words}", "bold")
    model, page = str(room / "tumours.posteriori"), room / "report.html"
    run_train(
        str(room / "tumours.csv"), "tumour", model, None, None, None, None, None, str(room / "costs.csv"), 0.5, 5, None, 0,
        False, False, str(page),
    )  # fmt: skip
    line(out)
    line(out, "$ posteriori explain tumours.posteriori tumours.csv --row 14", "bold")
    run_explain(model, str(room / "tumours.csv"), 14, None, None, False)
    line(out)
    line(out, f"the report, to open in a browser: {page.resolve()}", "bold")

"""What the library answers today: every model, old files, queries, boards, reports and what commands say.

`python -m tests.goldens.answers` writes the goldens that `test_goldens.py` compares with; `python -m tests.goldens.answers
exact` prints digests of every bit, to be compared with another tree's on the same machine (`diff` does it), or of the parts
that are named behind it. The file of an AutoBayes holds times: it is another one each time.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import pathlib
import re
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from typer.testing import CliRunner

import posteriori as po
from posteriori.store.file import to_bytes

from ..store.models import ALL, asked, made

HERE = pathlib.Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples" / "data"
GOLDENS, FILES = HERE / "answers.json", HERE / "files.zip"


def tables():
    """Ten tables by name: (columns, classes)."""
    for name, load in {
        "iris": load_iris,
        "wine": load_wine,
        "cancer": load_breast_cancer,
        "digits": load_digits,
    }.items():
        data = load(as_frame=True)
        part = np.random.default_rng(0).permutation(len(data.target))[:200]
        columns = data.data.iloc[part, :12].round(3)
        yield name, columns.reset_index(drop=True), data.target.iloc[part].astype(str).to_numpy()
    melons = pd.read_csv(EXAMPLES / "melons.csv")
    yield "melons", melons.iloc[:, :-1], melons.iloc[:, -1].to_numpy()
    for seed, (n, words, numbers, classes, gaps) in enumerate(
        [(40, 3, 0, 2, 0), (150, 6, 0, 4, 0.1), (150, 0, 5, 3, 0.1), (300, 4, 4, 2, 0.05), (120, 2, 8, 6, 0.2)]
    ):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, classes, n)
        columns = {
            f"w{j}": np.array(["a", "b", "c", "d"])[(y * (j + 1) + rng.integers(0, 3, n)) % 4] for j in range(words)
        }
        columns |= {f"n{j}": (rng.normal(size=n) * (j + 1) + y * (j % 3)).round(2) for j in range(numbers)}
        frame = pd.DataFrame(columns)
        yield f"made{seed}", frame.mask(rng.random(frame.shape) < gaps), np.array(["p", "q", "r", "s", "t", "u"])[y]


def posteriors():
    """The posterior of five rows by every model of ours, as the leaderboard makes it, on each table; one leaderboard."""
    from posteriori.leaderboard.lineup import Task, lineup

    for table, X, y in tables():
        task = Task(len(y), tuple(c.kind for c in po.Schema.infer(X).columns), tuple(X.columns), len(set(y)), 0)
        for entry in lineup().values():
            if entry.ours and not entry.barred(task):
                yield f"{table} {entry.name}", entry.make(task).fit(X, y).predict_proba(X.iloc[:5])
        if table == "melons":
            yield "board", without_times(json.loads(po.compare(X, y, cv=2).to_json()))


def without_times(held):
    """A board without what a clock said."""
    if isinstance(held, dict):
        return {k: without_times(v) for k, v in held.items() if "seconds" not in k and "time" not in k and k != "fit"}
    return [without_times(v) for v in held] if isinstance(held, list) else held


def models():
    """Every model of the tests of files: what it answers, and its file."""
    for name in ALL:
        model = made(name)
        yield f"model {name}", asked(model)
        yield f"file {name}", b"".join(map(bytes, to_bytes(model)))


def queries():
    """Models as queries."""
    X = {"a": ["x", "y", "x", None] * 6, "b": np.arange(24) % 7 / 2, "c": [True, False, True] * 8}
    y = ["no", "yes", "no", "no", "yes", "maybe"] * 4
    for dialect in ("duckdb", "postgres", "spark"):
        for model in (
            po.NaiveBayes(),
            po.NaiveBayes(density="gaussian"),
            po.TAN(),
            po.SPODE(),
            po.AODE(min_frequency=1),
        ):
            yield f"sql {dialect} {model!r}", po.sql(model.fit(X, y), "t", dialect=dialect)


def frame(n=60, seed=0):
    """The table that commands are tried on."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    out = pd.DataFrame({"a": (rng.normal(size=n) + y).round(3), "b": np.where(rng.random(n) < 0.7, y, 1 - y)})
    return out.assign(c=rng.choice(["x", "y", "z"], n), **{"class": np.array(["no", "yes"])[y]})


COMMANDS = """
--help
--version
train --help
compare --help
predict --help
explain --help
inspect --help
learn --help
forget --help
merge --help
query --help
structure --help
sql --help
demo --help
train d.csv -t class -m naive -o m.posteriori
train d.csv -t class -m tan -o t.posteriori --json
train d.csv -t class -m naive --loss costs.csv --reject 0.2 -o r.posteriori --report r.html --with-rows
inspect m.posteriori
inspect t.posteriori --json
inspect asia.bif
predict m.posteriori d.csv -o p.csv
predict m.posteriori few.csv
predict m.posteriori few.csv --format jsonl --keep
predict r.posteriori few.csv
explain m.posteriori few.csv --row 1
explain m.posteriori few.csv --row 1 --json
learn m.posteriori d.csv -o more.posteriori
forget more.posteriori d.csv -o less.posteriori
merge m.posteriori more.posteriori -o both.posteriori
sql t.posteriori d --dialect postgres
query asia.bif dysp
query asia.bif dysp smoke=yes --json
query asia.bif dyps
structure d.csv -o net.bif
structure d.csv -o net.bif --score k3
train
train d.csv
train d.csv -t clas
train d.csv -t class -m naiv
train d.csv -t class -m forest
train nothing.csv -t class
train empty.csv -t class
train ragged.csv -t class -m naive
train d.csv -t class --kind a=word
train d.csv -t class --kind q=text
train d.csv -t class --reject -1
train d.csv -t class --loss few.csv
train d.csv -t class -m naive -o d.csv
train one.csv -t class -m naive
predict m.posteriori other.csv
predict m.posteriori badcell.csv
predict d.csv d.csv
predict nothing.posteriori d.csv
predict torn.posteriori d.csv
explain m.posteriori few.csv --row 99
learn t.posteriori other.csv
forget m.posteriori strange.csv
merge m.posteriori t.posteriori
sql asia.bif d
inspect nothing
query d.csv a
nosuch
""".strip().split("\n")


def commands():
    """What each command says, and its exit code, in a folder of small files."""
    from posteriori.cli.main import app

    before = pathlib.Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            rows = frame()
            rows.to_csv("d.csv", index=False)
            rows.iloc[:3].to_csv("few.csv", index=False)
            rows.drop(columns="b").to_csv("other.csv", index=False)
            rows.assign(**{"class": "yes"}).to_csv("one.csv", index=False)
            rows.iloc[:3].assign(a=["1", "x1", "2"]).to_csv("badcell.csv", index=False)
            rows.iloc[:2].assign(c="new").to_csv("strange.csv", index=False)
            pathlib.Path("empty.csv").write_text("")
            pathlib.Path("ragged.csv").write_text("a,class\n1,x\n2,y,z\n")
            pathlib.Path("costs.csv").write_text(",no,yes\nno,0,5\nyes,1,0\n")
            pathlib.Path("torn.posteriori").write_bytes(b"posteriori, or not")
            po.networks.asia().write("asia.bif")
            for line in COMMANDS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    done = CliRunner().invoke(app, line.split(), env={"COLUMNS": "120"})
                yield f"$ {line}", [done.exit_code, without_seconds(done.stdout), without_seconds(done.stderr)]
            yield "report", visible(pathlib.Path("r.html").read_text(encoding="utf-8"))
        finally:
            os.chdir(before)


def without_seconds(text):
    """A text without times."""
    return re.sub(r"\b\d+(\.\d+)? ?(s|ms|seconds?)\b|(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)?", "…", text)


def visible(page):
    """The words of a page, one by one."""
    page = re.sub(
        r"(?s)<(script|style)\b.*?</\1>|\d{4}-\d\d-\d\d(?= \d\d:\d\d UTC)", " ", page
    )  # nor the day it was made
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", without_seconds(page))).split())


PARTS = {part.__name__: part for part in (models, queries, commands, posteriors)}


def everything(parts):
    """(name, answer), one after the other."""
    for part in parts or PARTS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from PARTS[part]()


def digest(held):
    """The digest of a value's every bit."""
    if isinstance(held, bytes):
        return hashlib.sha256(held).hexdigest()[:20]
    if isinstance(held, np.ndarray):
        return digest(repr((held.shape, held.tolist())).encode())
    if isinstance(held, list) and any(isinstance(v, np.ndarray) for v in held):
        return digest(" ".join(digest(v) for v in held).encode())
    return digest(json.dumps(held, default=str, ensure_ascii=False).encode())


def short(held):
    """A value as the goldens keep it: texts as they are, the first numbers of arrays by ten digits."""
    if isinstance(held, np.ndarray):
        first = held.ravel()[:15].tolist()
        return [list(held.shape), [float(f"{v:.10g}") if isinstance(v, float) else v for v in first]]
    if isinstance(held, list):
        return [short(v) if isinstance(v, np.ndarray) else v for v in held]
    return held


def write():
    """Write the goldens."""
    found = dict(everything(()))
    with zipfile.ZipFile(FILES, "w") as files:
        for name, held in found.items():
            if name.startswith("file "):
                files.writestr(zipfile.ZipInfo(name[5:] + ".posteriori"), held, zipfile.ZIP_DEFLATED)
    kept = {name: short(held) for name, held in found.items() if not isinstance(held, bytes)}
    lines = (f"{json.dumps(n)}: {json.dumps(v, ensure_ascii=False, default=str)}" for n, v in kept.items())
    GOLDENS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["exact"]:
        for name, held in everything(sys.argv[2:]):
            print(digest(held), name)
    else:
        write()

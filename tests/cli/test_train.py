"""train: whatever of ours is best, or named, becomes a file that predict, explain and inspect take."""

from __future__ import annotations

import hashlib
import io
import json
import pathlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli import bulk, train
from posteriori.cli.main import Train
from posteriori.cli.render import Out
from posteriori.cli.train import OURS, _best, _refuse_model, _say_choice, _sha256, output_path, say_board
from posteriori.errors import ModelError, NotStorable
from posteriori.leaderboard.board import Leaderboard, Row
from posteriori.leaderboard.lineup import lineup


@pytest.fixture
def points(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    frame = pd.DataFrame({"a": rng.normal(size=90) + y, "b": rng.normal(size=90) - y, "c": rng.normal(size=90)})
    frame.loc[::13, "b"] = np.nan
    frame.assign(kind=np.array(["u", "v", "w"])[y]).to_csv(tmp_path / "points.csv", index=False)
    return tmp_path / "points.csv"


def test_all_of_ours_and_none_of_theirs():
    assert set(OURS) == {name for name, entry in lineup().items() if entry.ours}
    assert {"naive", "svc", "linear-svc", "gaussian", "mixture", "knn"} <= set(OURS)
    assert not {"baseline", "forest", "mlp"} & set(OURS)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("costs", [False, True])
def test_every_model_of_ours_has_a_file_for_every_command(run, points, tmp_path, name, costs):
    path = tmp_path / "m.posteriori"
    done = run("train", points, "-t", "kind", "-m", name, "-o", path, *(["--reject", 0.3] if costs else []))
    assert done.exit_code == 0, done.output
    done = run("predict", path, points, "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    told = pd.read_csv(tmp_path / "out.csv")
    model = po.load(path)
    table = po.read(points, target="kind")
    expected = model.predict_proba(table.X)
    assert np.allclose(told[["P(u)", "P(v)", "P(w)"]], expected, atol=1e-12)
    assert f"{int(table.X.isna().sum().sum())} cells missing" in done.stderr
    assert set(told["decision"]) <= {"u", "v", "w", "reject"}
    done = run("explain", path, points, "--row", 2, "--json")
    assert done.exit_code == 0, done.output
    why = json.loads(done.stdout)
    assert {p["column"] for p in why["parts"]} == {"a", "b", "c"}
    assert why["log_odds"] == pytest.approx(
        why["prior"] + sum(p["log_odds"] for p in why["parts"]) + why["together"], abs=1e-9
    )
    done = run("inspect", path)
    assert done.exit_code == 0, done.output
    assert "OnPoints" not in done.stdout
    assert "3 columns, target kind" in done.stdout


def test_a_peer_that_wins_is_said_and_the_best_of_ours_is_saved(run, points, tmp_path, monkeypatch):
    compare = train.compare
    monkeypatch.setattr(train, "compare", lambda *a, **k: compare(*a, **{**k, "models": ["baseline", "mlp", "spode"]}))
    path = tmp_path / "m.posteriori"
    done = run("train", points, "-t", "kind", "--cv", 3, "-o", path)
    assert done.exit_code == 0, done.output
    flat = " ".join(done.stdout.split())
    assert "mlp is ahead of spode" in flat
    assert "no model file" in flat
    assert type(po.load(path)).__name__ == "SPODE"


def test_no_time_at_all_still_gives_a_model_that_says_it_is_untested(run, points, tmp_path):
    path = tmp_path / "m.posteriori"
    done = run("train", points, "-t", "kind", "--time-limit", 0, "-o", path)
    assert done.exit_code == 0, done.output
    assert "untested" in done.stdout
    assert type(po.load(path)).__name__ == "NaiveBayes"


def test_where_the_model_goes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(output_path("some/data.v2.csv", None)) == "data.posteriori"
    assert str(output_path("-", None)) == "stdin.posteriori"
    assert str(output_path("data.csv", "m.posteriori")) == "m.posteriori"


def test_ctrl_c_in_the_report_says_that_the_model_is_there(run, points, tmp_path, monkeypatch):
    from posteriori.cli import guard

    monkeypatch.setattr(train, "report_on", lambda *_: guard.interrupt.press())
    path = tmp_path / "m.posteriori"
    done = run("train", points, "-t", "kind", "-m", "naive", "-o", path, "--report", tmp_path / "r.html")
    assert done.exit_code == 130
    assert f"the model is in {path}, the report was not written" in done.stderr.replace("\n", "")
    assert path.exists()
    assert not (tmp_path / "r.html").exists()


def test_the_report_says_what_the_board_says(run, points, tmp_path):
    page = tmp_path / "r.html"
    done = run("train", points, "-t", "kind", "-m", "tan", "--cv", 4, "-o", tmp_path / "m.posteriori", "--report", page,
               "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    (row,) = [r for r in json.loads(done.stdout)["leaderboard"]["models"] if r["model"] == "tan"]
    tiles = page.read_text().split('class="tiles"')[1][:3000]
    assert f"<dd>{row['error']:.1%}</dd>" in tiles
    assert f"<dd>{row['log_loss']:.3f}</dd>" in tiles
    assert f"<dd>{row['calibration_error']:.1%}</dd>" in tiles


# the functions themselves


def row_of(name, loss, ours=True, **more):
    folds = {} if loss is None else {"log_loss": (loss, loss), "cost": (loss / 4, loss / 4)}
    return Row(name, "", None, folds=folds, ours=ours, **more)


def choice(rows, name, by="log_loss"):
    out = Out(file=io.StringIO(), width=400, highlight=False, markup=False, emoji=False)
    _say_choice(out, Leaderboard(rows, by, 2, 10), name)
    return out.file.getvalue().splitlines()


def test_a_choice_is_explained_where_it_needs_to_be():
    base, naive, forest = row_of("baseline", 0.7, False), row_of("naive", 0.5), row_of("forest", 0.25, False)
    assert choice((naive, base), "naive") == []
    ahead = "it is scikit-learn's, which has no model file: naive is the best of ours"
    assert choice((forest, naive, base), "naive") == [f"forest is ahead of naive (by log loss: 0.250, 0.500); {ahead}"]
    assert choice((forest, naive, base), "naive", "cost") == [
        f"forest is ahead of naive (by cost: 0.062, 0.125); {ahead}"
    ]
    worse = "naive is no better than always the commonest class: the columns tell little of the target"
    assert choice((base, row_of("naive", 0.75)), "naive") == [worse]
    assert choice((base, row_of("naive", 0.7)), "naive") == [worse]
    late = row_of("naive", None, status="skipped", reason="no time")
    assert choice((base, late), "naive") == ["no model of ours was scored; naive is taken, untested (no time)"]


def test_the_best_is_the_first_of_ours_that_was_scored():
    forest, tan = row_of("forest", 0.1, False), row_of("tan", 0.2)
    late = row_of("kdb", None, status="failed")
    assert _best(Leaderboard((forest, tan, row_of("naive", 0.3), late), "log_loss", 2, 10)) == "tan"
    assert _best(Leaderboard((forest, late), "log_loss", 2, 10)) == "naive"


def test_a_board_says_by_what_it_is_sorted():
    for by, words in (("log_loss", "log loss"), ("cost", "what the decisions cost")):
        out = Out(file=io.StringIO(), width=200, highlight=False, markup=False, emoji=False)
        say_board(out, Leaderboard((row_of("naive", 0.5),), by, 7, 10))
        first, *rest = out.file.getvalue().splitlines()
        assert (
            first
            == f"7 folds, the same for all, sorted by {words}: mean ± sd over the folds (calib.: all rows ± jackknife)"
        )
        assert (rest[0].split()[0], rest[1].split()[0], rest[-1]) == ("model", "naive", "")


def test_the_hash_of_a_file_and_its_name(tmp_path):
    (tmp_path / "x").write_bytes(b"abc")
    assert _sha256(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()
    assert str(output_path(".csv", None)) in (".posteriori", "model.posteriori")


def test_a_model_that_is_none_of_ours_is_named():
    with pytest.raises(NotStorable, match="'forest' takes part in the leaderboard only"):
        _refuse_model("forest")
    with pytest.raises(ModelError, match=r"no model 'tann'; did you mean 'tan'[?] Models: 'naive'"):
        _refuse_model("tann")


def test_what_is_told_in_json(run, points, tmp_path):
    path = tmp_path / "m.posteriori"
    told = json.loads(run("train", points, "-t", "kind", "-m", "naive", "-o", path, "--json", "--cv", 2).stdout)
    assert (told["model"], told["path"], told["rows"], told["target"]) == ("naive", str(path), 90, "kind")
    assert told["classes"] == ["u", "v", "w"]
    assert told["columns"] == [{"name": name, "kind": "numeric"} for name in "abc"]
    assert (told["report"], told["notes"]) == (None, [])
    assert {row["model"] for row in told["leaderboard"]["models"]} == {"baseline", "naive"}
    assert told["leaderboard"]["folds"] == 2


def test_quiet_is_quiet_and_the_seed_is_the_model_s(run, points, tmp_path):
    path = tmp_path / "m.posteriori"
    assert run("train", points, "-t", "kind", "-m", "bayes-forest", "-o", path, "-q", "--seed", 7).output == ""
    assert po.load(path).random_state == 7
    assert run("compare", points, "-t", "kind", "-m", "naive", "--cv", 2, "-q").output == ""


def test_the_way_on_is_said_with_a_name_that_a_shell_takes(run, points, tmp_path):
    path = tmp_path / "my model.posteriori"
    lines = run("train", points, "-t", "kind", "-m", "naive", "-o", path).stdout.splitlines()
    assert lines[-2] == f"naive on all 90 rows → {path}"
    assert lines[-1] == f"next: posteriori predict '{path}' new_rows.csv -o answers.csv"


@pytest.mark.parametrize(
    "words", [(), ("--loss", "costs.csv"), ("--reject", 0.25), ("--loss", "costs.csv", "--reject", 0.25)]
)
def test_costs_and_prices_are_those_of_a_file_that_is_streamed_too(run, points, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "costs.csv").write_text(",u,v,w\nu,0,1,5\nv,2,0,1\nw,1,1,0\n")
    losses, out = [], []
    for large in (1, 1 << 60):
        monkeypatch.setattr(bulk, "LARGE", large)
        done = run("train", points, "-t", "kind", "-m", "naive", "-o", "m.posteriori", *words)
        assert done.exit_code == 0, done.output
        model = po.load("m.posteriori")
        losses.append(str(model.loss_) if words else type(model).__name__)
        out.append(done.stdout.splitlines()[-2:])
        answers = pd.read_csv(io.StringIO(run("predict", "m.posteriori", points).stdout))
        losses[-1] += str(answers["decision"].tolist())
    assert losses[0] == losses[1]
    assert out[0][0] == "naive on all 90 rows, streamed → m.posteriori"
    assert out[0][1] == out[1][1]


def test_a_streamed_file_in_json_and_quietly(run, points, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk, "LARGE", 1)
    path = tmp_path / "m.posteriori"
    told = json.loads(run("train", points, "-t", "kind", "-m", "naive", "-o", path, "--json").stdout)
    assert (told["rows"], told["model"], told["leaderboard"]) == (90, "naive", None)
    assert run("train", points, "-t", "kind", "-m", "naive", "-o", path, "-q").output == ""


@pytest.mark.parametrize(
    "words",
    [("--bins", 2, "-t", "a"), ("--sql", "FROM this"), ("--cv", 2), ("--time-limit", 9), ("--report", "r.html"),
     ("--encoding", "latin-1"), ("-m", "tan")],
)  # fmt: skip
def test_what_streaming_cannot_do_is_done_on_the_whole_table(run, points, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bulk, "LARGE", 1)
    monkeypatch.setattr(train, "fit_bulk", None)
    usual = ["-t", "kind"] if "-t" not in words else []
    usual += ["-m", "naive"] if "-m" not in words else []
    done = run("train", points, *usual, "-o", "m.posteriori", *words)
    assert done.exit_code == 0, done.output


def test_a_report_and_a_model_have_two_names(run, points, tmp_path):
    both = tmp_path / "m.posteriori"
    done = run("train", points, "-t", "kind", "-m", "naive", "-o", both, "--report", tmp_path / "." / "m.posteriori")
    assert (done.exit_code, "two outputs would be one file" in done.stderr) == (6, True)


def test_a_model_that_is_told_has_a_board_only_where_folds_are(run, data, tmp_path):
    out = tmp_path / "m.posteriori"
    plain = run("train", data, "-t", "class", "-m", "naive", "-o", out)
    assert "the same for all" not in plain.stdout
    for more in (("--cv", 2), ("--time-limit", 60)):
        assert "the same for all" in run("train", data, "-t", "class", "-m", "naive", "-o", out, *more).stdout


def test_a_model_that_could_answer_no_row_is_not_saved(run, tmp_path):
    """A value for every category beside the others: their covariance has no inverse."""
    rows = "".join(f"{'abc'[i % 3]},{i * i % 17},{'yn'[i % 2]}\n" for i in range(120))
    (tmp_path / "t.csv").write_text(f"w,x,y\n{rows}")
    done = run("train", tmp_path / "t.csv", "-t", "y", "-m", "gaussian")
    assert (done.exit_code, "is singular" in done.stderr) == (5, True), done.output
    assert not (tmp_path / "t.posteriori").exists()


def test_the_demo_leaves_its_files_where_it_is_told(run, tmp_path):
    busy = tmp_path / "file"
    busy.write_text("here")
    assert run("demo", "--into", busy).exit_code == 6
    done = run("demo", "--into", tmp_path / "demo")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "<bdi>tumours.csv</bdi></h1>" in page
    assert "decides tumour" in page
    assert {f.name for f in (tmp_path / "demo").iterdir()} == {
        "costs.csv",
        "report.html",
        "tumours.csv",
        "tumours.posteriori",
    }
    assert "otherwise if" in done.stdout
    board = (pathlib.Path(__file__).parents[2] / "README.md").read_text("utf-8").split("Its board begins")[1]
    head, names, *models = board.split("```")[1].strip().splitlines()
    printed = [line.split()[:11] for line in done.stdout.splitlines()]  # of each model five scores, then times
    assert head in done.stdout
    assert names.split() in [line.split() for line in done.stdout.splitlines()]
    assert all(line.split()[:11] in printed for line in models[:-1])


@pytest.mark.parametrize("reject", [None, 0.2])
@pytest.mark.parametrize("told", [False, True])
def test_a_model_of_all_rows_holds_its_costs_and_needs_no_file(points, tmp_path, told, reject):
    """λ as the file has it, the price below; without either, the model itself."""
    costs = tmp_path / "costs.csv"
    costs.write_text("decided\\truth,w,u,v\nu,3,0,1\nv,5,2,0\nw,0,7,9\n")
    options = Train(str(points), "kind", loss=str(costs) if told else None, reject=reject)
    model = train.fit(options, "naive", SimpleNamespace(table=po.read(points, target="kind")))
    costs.unlink()
    assert isinstance(model, po.RiskClassifier) == (told or reject is not None)
    if isinstance(model, po.RiskClassifier):
        wanted = [[0, 1, 3], [2, 0, 5], [7, 9, 0]] if told else (1 - np.eye(3)).tolist()
        assert model.loss_.matrix.tolist() == wanted + [[reject] * 3] * (reject is not None)
        assert (model.loss is None) == (not told)
        assert not isinstance(model.loss, str)

"""train: whatever of ours is best, or named, becomes a file that predict, explain and inspect take."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.cli.train import OURS, output_path
from posteriori.errors import WriteError
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
    from posteriori.cli import train

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
    with pytest.raises(WriteError, match="folder"):
        output_path("data.csv", str(tmp_path))
    with pytest.raises(WriteError, match="no folder"):
        output_path("data.csv", str(tmp_path / "none" / "m.posteriori"))


def test_ctrl_c_in_the_report_says_that_the_model_is_there(run, points, tmp_path, monkeypatch):
    from posteriori.cli import guard, train

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

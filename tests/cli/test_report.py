"""`posteriori train --report`: one more file, about the model that was saved; no rows in it unless asked."""

from __future__ import annotations

import hashlib
import json

import pandas as pd


def test_a_report_stands_beside_the_model(run, data):
    page = data.with_name("r.html")
    done = run(
        "train", data, "-t", "class", "-m", "naive", "--cv", 2, "-o", data.with_name("m.posteriori"), "--report", page
    )
    assert done.exit_code == 0, done.output
    assert f"report → {page}" in done.stdout.replace("\n", "")
    text = page.read_text()
    for file in (data, data.with_name("m.posteriori")):
        assert hashlib.sha256(file.read_bytes()).hexdigest() in text
    assert 'id="board"' in text
    assert "baseline" in text
    assert sorted(f.name for f in data.parent.iterdir()) == ["data.csv", "m.posteriori", "r.html"]


def test_costs_and_the_price_of_rejecting_are_the_report_s_own(run, data):
    page = data.with_name("r.html")
    done = run("train", data, "-t", "class", "-m", "tan", "--reject", 0.3, "--report", page, "--json",
               "-o", data.with_name("m.posteriori"))  # fmt: skip
    assert json.loads(done.stdout)["report"] == str(page)
    assert '"reject":0.3' in page.read_text()


def test_no_row_is_in_the_report_unless_asked(run, data):
    frame = pd.read_csv(data)
    frame["who"] = [f"canary-{i // 2}" for i in range(len(frame))]
    frame.loc[3, "a"] = 123456.789
    frame.to_csv(data, index=False)
    page = data.with_name("r.html")
    words = ["train", data, "-t", "class", "-m", "naive", "-o", data.with_name("m.posteriori"), "--report", page]
    for more in ([], ["--reject", 0.2]):
        assert run(*words, *more).exit_code == 0
        assert "canary" not in page.read_text()
        assert "123456" not in page.read_text()
    assert run(*words, "--with-rows").exit_code == 0
    assert "canary" in page.read_text()


def test_a_report_that_cannot_be_written_is_refused_before_the_work(run, data):
    for page in (data.parent, data.parent / "none" / "r.html", data.with_name("m.posteriori")):
        done = run("train", data, "-t", "class", "-m", "naive", "-o", data.with_name("m.posteriori"), "--report", page)
        assert done.exit_code == 6, done.output
        assert len(done.stderr.splitlines()) == 1
    assert [f.name for f in data.parent.iterdir()] == ["data.csv"]

"""posteriori demo: the whole way, and its files where they are told to be."""

from __future__ import annotations


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

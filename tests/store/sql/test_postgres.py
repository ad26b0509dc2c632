"""The same query in a real PostgreSQL: a cluster of its own in a folder of its own, reached by a socket there."""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import pandas as pd
import pytest

import posteriori as po
from posteriori.table.dates import PARTS, date_part

from ...programs import found
from .test_cells import LAW, MOMENTS, PADDED, ZONES, check, dated, model_of, moments, rows_of
from .test_query import MODELS, NASTY, table
from .test_scores import EXTREMES, far_out, says_the_same

pytestmark = pytest.mark.needs("initdb", "postgresql")
TYPES = {"i": "bigint", "f": "float8", "b": "boolean", "M": "timestamp"}


class Cluster:
    """A server for these tests alone."""

    def __init__(self, room: pathlib.Path) -> None:
        self.room = room
        owner = {}
        if os.geteuid() == 0:  # which the server refuses to be
            owner = {"user": "postgres"}
            shutil.chown(room, "postgres")
        self.how = {"check": True, "capture_output": True, "cwd": room, **owner}
        self.run(
            "initdb", "-D", room / "data", "-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"
        )
        options = f"-c listen_addresses='' -c fsync=off -k {room}"
        self.run("pg_ctl", "-D", room / "data", "-o", options, "-w", "-l", room / "log", "start")

    def run(self, program, *arguments) -> None:
        subprocess.run([found(program), *map(str, arguments)], **self.how)

    def stop(self) -> None:
        self.run("pg_ctl", "-D", self.room / "data", "-m", "immediate", "stop")

    def ask(self, text: str) -> pd.DataFrame:
        """The answer of the last statement."""
        command = [
            found("psql"),
            "-h",
            str(self.room),
            "-U",
            "postgres",
            "-q",
            "--csv",
            "-v",
            "ON_ERROR_STOP=1",
            "-f",
            "-",
        ]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return pd.read_csv(io.StringIO(done.stdout)) if done.stdout.strip() else pd.DataFrame()

    def holds(self, rows: pd.DataFrame) -> str:
        """Statements that put rows into a table t."""
        quoted = ['"' + str(c).replace('"', '""') + '"' for c in rows.columns]
        kinds = [TYPES.get(rows[c].infer_objects().dropna().infer_objects().dtype.kind, "text") for c in rows.columns]
        cells = rows.astype(object).where(rows.notna(), None).itertuples(index=False)
        lines = ["(" + ", ".join(map(_said, row)) + ")" for row in cells]
        made = ", ".join(f"{c} {k}" for c, k in zip(quoted, kinds))
        return f"CREATE TEMP TABLE t ({made}); INSERT INTO t VALUES {', '.join(lines)};\n"


def _said(cell) -> str:
    if cell is None:
        return "NULL"
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).upper()
    return (
        repr(cell.item() if hasattr(cell, "item") else cell)
        if isinstance(cell, int | float | np.number)
        else ("E'" + str(cell).replace("\\", "\\\\").replace("'", "''") + "'")
    )


@pytest.fixture(scope="module")
def postgres():
    """A running server."""
    room = pathlib.Path(tempfile.mkdtemp(prefix="posteriori-pg-"))
    try:
        cluster = Cluster(room)
        yield cluster
        cluster.stop()
    finally:
        shutil.rmtree(room, ignore_errors=True)


KINDS = {NASTY[1]: "categorical"}
MORE = {
    "default": lambda: po.NaiveBayes(kinds=KINDS),
    "kernel": lambda: po.NaiveBayes(density="kernel", kinds=KINDS),
}


@pytest.mark.parametrize("name", [*MODELS, *MORE])
def test_postgres_gives_what_the_model_gives(postgres, name):
    rng = np.random.default_rng(4)
    X, y = table(rng, 120, missing=True), rng.choice(["p", "q's", 'r"'], 120)
    model = {**MODELS, **MORE}[name]().fit(X, y, sample_weight=rng.random(120) + 0.5)
    rows = table(rng, 60)
    rows.iloc[0, 0], rows.iloc[1, 2], rows.iloc[2, 4], rows.iloc[3, 2] = "never seen", 1e3, 40.0, -250.0
    rows.iloc[4] = None
    found = postgres.ask(postgres.holds(rows) + po.sql(model, "t", "postgres") + ";")
    wanted = model.predict_proba(rows)
    assert len(found) == len(rows)
    np.testing.assert_allclose(found.iloc[:, 5:8].to_numpy(), wanted, atol=1e-9)
    assert (found.iloc[:, -1] == model.predict(rows)).all()


def test_dates_are_read_in_postgres(postgres):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"sold": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 10**6, 80), unit="m")})
    full = rows.assign(**{f"sold.{part}": date_part(rows["sold"], part) for part in PARTS})
    kinds = {f"sold.{part}": "categorical" for part in PARTS}
    model = po.NaiveBayes(kinds=kinds).fit(full, rng.integers(0, 2, 80))
    found = postgres.ask(postgres.holds(rows) + po.sql(model, "t", "postgres", dates=["sold"]) + ";")
    np.testing.assert_allclose(found[["P(0)", "P(1)"]].to_numpy(), model.predict_proba(full), atol=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("values", "kind", "cells", "said"), [*LAW, *PADDED])
def test_a_column_says_what_its_type_can_say_or_is_named(postgres, values, kind, cells, said):
    check(postgres.ask, AssertionError, model_of(values), "a.b", kind, cells, rows_of(said), "postgres")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("kind", "cells", "said"), MOMENTS)
def test_dates_are_those_of_utc_whatever_the_session_says(postgres, kind, cells, said, zone):
    before = f"SET TimeZone = '{zone}'; SET DateStyle = 'German';"
    check(postgres.ask, AssertionError, dated(), "sold", kind, cells, moments(said), "postgres", before, dates=["sold"])


@pytest.mark.parametrize(("name", "how"), EXTREMES)
def test_cells_far_out_are_answered_or_refused_as_by_the_model(postgres, name, how):
    model, rows = far_out(name, how)
    stored = rows.map(lambda x: f"{x!r}").replace("nan", None)  # as words, which are numbers that nobody rounds
    made = "CREATE TEMP TABLE t AS SELECT CAST(a AS float8) AS a, CAST(b AS float8) AS b FROM u;\n"
    text = postgres.holds(stored).replace("TABLE t", "TABLE u").replace("INTO t", "INTO u") + made
    says_the_same(postgres.ask(text + po.sql(model, "t", "postgres") + ";"), model, rows)

"""Models as queries in DuckDB and PostgreSQL: letters, seconds over 1,500 rows, and what a backend took at most.

python benchmarks/bench_sql.py [models …]
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pandas as pd
from harness import record

import posteriori as po
from posteriori.errors import NotStorable

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
from tests.store.sql.test_postgres import Cluster

NOTES = """
1,500 rows, a twentieth of the cells missing; seconds from text to the last row, with planning, and what the process took
at most. PostgreSQL compiles the expressions of long queries (`jit`), which takes most of the time: `SET jit = off` first.
Measured while other work ran on the machine.
"""
ROWS, SECONDS, MB = 1500, 60, 4000  # of rows; what a query may take
MODELS = {
    "gaussian": lambda: po.NaiveBayes(density="gaussian"),
    "binned": lambda: po.NaiveBayes(density="binned"),
    "kernel": lambda: po.NaiveBayes(density="kernel"),
    "auto": po.NaiveBayes,
    "words": lambda: po.NaiveBayes(kinds="categorical"),
    "TAN": lambda: po.TAN(kinds="categorical"),
    "SPODE": lambda: po.SPODE(kinds="categorical"),
    "AODE": lambda: po.AODE(kinds="categorical", min_frequency=1),
}


def table(model: str, d: int, K: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns that the class moves: numbers, or words of six values, a twentieth of them missing."""
    rng = np.random.default_rng(d * K)
    y = rng.integers(0, K, ROWS)
    x = rng.normal(size=(ROWS, d)) + rng.normal(size=(K, d))[y]
    X = pd.DataFrame(x, columns=[f"c{j}" for j in range(d)])
    if model in ("words", "TAN", "SPODE", "AODE"):
        X = X.apply(lambda c: pd.cut(c, 6, labels=list("uvwxyz")).astype(object))
    return X.mask(rng.random(X.shape) < 0.05, None), y


class Watch:
    """The most memory of a cluster's backends, in MB; they are ended beyond MB."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.most, self.on = cluster, 0.0, True
        self.postmaster = (cluster.room / "data" / "postmaster.pid").read_text().split()[0]
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self) -> None:
        while self.on:
            children = pathlib.Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text().split()
            for child in children:
                try:
                    lines = pathlib.Path(f"/proc/{child}/status").read_text().splitlines()
                except OSError:
                    continue
                anon = next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon")), 0.0)
                self.most = max(self.most, anon)
                if anon > MB:
                    self.cluster.ask(f"SELECT pg_cancel_backend({child});")
            time.sleep(0.02)

    def end(self) -> float:
        self.on = False
        self.thread.join()
        return self.most


def in_postgres(cluster: Cluster, model: object, X: pd.DataFrame) -> list[str]:
    """Letters, and seconds and memory as PostgreSQL comes and without its compiler."""
    try:
        query = po.sql(model, "bench", "postgres", keep=["n"])
    except NotStorable as error:
        return [str(error).split(":")[0], "refused", "refused"]
    made = (
        cluster.holds(X.assign(n=range(ROWS)))
        .replace(" TEMP TABLE t ", " TABLE bench ")
        .replace("INTO t ", "INTO bench ")
    )
    cluster.ask("DROP TABLE IF EXISTS bench;" + made)
    said = [f"{len(query):,}"]
    for jit in ("on", "off"):
        watch, begin = Watch(cluster), time.perf_counter()
        try:
            found = cluster.ask(f"SET jit = {jit}; SET statement_timeout = '{SECONDS}s'; {query};")
            took = f"{time.perf_counter() - begin:.2f} s, {watch.end():.0f} MB"
            wrong = abs(found.sort_values("n").iloc[:, 1:-1].to_numpy(float) - model.predict_proba(X)).max()
            said.append(took + (f", off by {wrong:.0e}" if wrong > 1e-8 else ""))
        except AssertionError as error:
            said.append(f"{str(error).splitlines()[0][:60]}, {watch.end():.0f} MB")
    return said


DUCK = """
import sys, time, resource, duckdb
with duckdb.connect(config={"threads": 2}) as db:
    db.execute(f"CREATE TABLE bench AS FROM read_parquet('{sys.argv[1]}')")
    taken = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    before, begin = taken(), time.perf_counter()
    db.execute(open(sys.argv[2]).read()).fetchall()
    print(f"{time.perf_counter() - begin:.2f} s, {taken() - before:.0f} MB")
"""


def in_duckdb(room: str, model: object, X: pd.DataFrame) -> str:
    file, text = pathlib.Path(room, "x.parquet"), pathlib.Path(room, "q.sql")
    try:
        text.write_text(po.sql(model, "bench", keep=[]))
    except NotStorable:
        return "refused"
    X.to_parquet(file)
    limited = f"ulimit -v {MB * 1100}; exec timeout {SECONDS} {sys.executable} - {file} {text}"
    done = subprocess.run(["bash", "-c", limited], input=DUCK, capture_output=True, text=True, check=False)
    return done.stdout.strip() or f"ended: {(done.stderr.strip().splitlines() or ['timeout'])[-1][:60]}"


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory(prefix="posteriori-pg-") as room, tempfile.TemporaryDirectory() as files:
        cluster = Cluster(pathlib.Path(room))
        try:
            for name in sys.argv[1:] or MODELS:
                for d in (5, 20, 60):
                    for K in (2, 10, 50):
                        X, y = table(name, d, K)
                        model = MODELS[name]().fit(X, y)
                        rows.append([name, str(d), str(K), *in_postgres(cluster, model, X), in_duckdb(files, model, X)])
                        print(rows[-1], flush=True)
        finally:
            cluster.stop()
    if not sys.argv[1:]:
        head = ["model", "columns", "classes", "letters", "PostgreSQL", "without jit", "DuckDB"]
        record("Models as queries", "python benchmarks/bench_sql.py", head, rows, NOTES)


if __name__ == "__main__":
    main()

"""Any bytes are a model or a named error: none crashes, hangs or takes more memory than 64 MB and four times the file."""

from __future__ import annotations

import dataclasses
import json
import resource
import subprocess
import sys

import numpy as np
import pytest

from posteriori.errors import ModelFileError
from posteriori.store.container import header_of, pack
from posteriori.store.file import from_bytes, to_bytes

from .fuzz import peak_of, put_together, run, taken_apart
from .models import ALL, made

PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_two_thousand_changed_files(part):
    """As many as every field of every model is met by; `make fuzz` goes on for long."""
    names = list(ALL)[part::PARTS]
    loaded, count = run(names, 2000 // PARTS, seed=part)
    assert 0 < loaded < count


def file_of(model: str, arrays=()) -> bytes:
    head = {"format": 1, "library": "0.1.0", "class": "Schema", "summary": {}}
    return b"".join(map(bytes, pack(head, model, list(arrays))))


BOMBS = {
    "deep": lambda: file_of("[" * 500_000),
    "deep objects": lambda: file_of('{"is":' * 300_000),
    "wide": lambda: file_of("[" + "[]," * 2_000_000 + "[]]"),
    "many objects": lambda: file_of("[" + '{"is":"tuple","of":[]},' * 400_000 + "1]"),
    "many numbers": lambda: file_of("[" + "9999," * 3_000_000 + "1]"),
    "digits": lambda: file_of("9" * 5_000_000),
    "wide texts": lambda: file_of('{"is":"texts","width":16000000,"shape":[4],"of":["a","b","c","d"]}'),
    "tiny texts": lambda: file_of(
        '{"is":"tuple","as":"text","ends":{"is":"array","at":0},"of":{"is":"array","at":1}}',
        [np.arange(2, 2 * 10**6 + 2, 2, dtype=np.int64), np.full(2 * 10**6, 97, np.uint8)],
    ),
    "large shape": lambda: file_of('{"is":"objects","shape":[281474976710655,281474976710655],"of":[]}'),
    "huge length": lambda: b"\xff" * 8 + b"{}",
    "empty": lambda: b"",
    "header of lists": lambda: (8_000_000).to_bytes(8, "little") + b"[" * 8_000_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_do_not_go_off(name):
    data = BOMBS[name]()
    with pytest.raises(ModelFileError):
        from_bytes(bytearray(data))
    assert peak_of(data) < (64 << 20) + 4 * len(data)


def test_arrays_larger_than_the_file_are_never_made(tmp_path):
    """With an address space that has no room for what the files claim to hold."""
    head, model, arrays = taken_apart(bytes(b"".join(map(bytes, to_bytes(made("naive"))))))
    for at in range(3):
        claimed = [{"dtype": "F64", "shape": [1 << 40], "sha256": "0" * 64}] * len(arrays)
        said = json.dumps(
            {**{k: v for k, v in head.items() if k != "arrays"}, "arrays": claimed}, separators=(",", ":")
        )
        (tmp_path / f"{at}.posteriori").write_bytes(header_of(said, json.dumps(model), claimed) + b"\0" * 64)
    (tmp_path / "whole.posteriori").write_bytes(put_together(head, model, arrays))
    code = f"""
import resource, pathlib, posteriori as po
from posteriori.errors import ModelFileError
import posteriori.bayes.naive
held = int(open("/proc/self/statm").read().split()[0]) * {resource.getpagesize()}
resource.setrlimit(resource.RLIMIT_AS, (held + (300 << 20),) * 2)
po.load(r"{tmp_path}/whole.posteriori")
for file in sorted(pathlib.Path(r"{tmp_path}").glob("?.posteriori")):
    try:
        po.load(file)
    except ModelFileError as error:
        print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused"] * 3


def test_a_sample_of_rows_that_were_not_counted_is_refused():
    model = made("naive")
    held = model.statistics_
    swapped = dataclasses.replace(held.sample, table=np.ascontiguousarray(held.sample.table[:, ::-1]))
    vars(model)["statistics_"] = dataclasses.replace(held, sample=swapped)
    with pytest.raises(ModelFileError, match="rows of a sample"):
        from_bytes(bytearray(b"".join(map(bytes, to_bytes(model)))))

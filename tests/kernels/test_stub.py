"""`_base.pyi` says what the compiled modules have: the same names and arguments, and examples that hold."""

from __future__ import annotations

import ast
import doctest
import pathlib
import re
from collections.abc import Iterator

import numpy as np
import pytest

from posteriori import kernels
from posteriori.kernels.trees import Boosting, Codes

STUB = ast.parse((pathlib.Path(kernels.__file__).parent / "_base.pyi").read_text(encoding="utf-8"))


def functions(body: list[ast.stmt], of: object, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef, object]]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node, getattr(of, node.name)
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, getattr(of, node.name), f"{node.name}.")


FUNCTIONS = list(functions(STUB.body, kernels.native))


def test_every_name_is_in_both() -> None:
    bound = {name for name, found in vars(kernels.native).items() if not name.startswith("_")}
    told = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert bound - told == {"NAN", "INF", "NEGATIVE", "NOT_FINITE", "SHAPES", "CHUNK"}
    assert told - bound == set()


@pytest.mark.parametrize(("name", "stub", "found"), FUNCTIONS, ids=[name for name, *_ in FUNCTIONS])
def test_the_arguments_are_those_of_the_binding(name: str, stub: ast.FunctionDef, found: object) -> None:
    """nanobind's own signatures, `f(x: …, n_jobs: … = None)`, of every overload."""
    every = [*stub.args.posonlyargs, *stub.args.args, *stub.args.kwonlyargs]
    wanted = [a.arg for a in every if a.arg != "self"]
    for line in re.findall(rf"^{stub.name}\((.*)\) ->", str(found.__doc__), re.M):
        flat = re.sub(r"\[[^\[\]]*\]", "", line)
        while (less := re.sub(r"\[[^\[\]]*\]", "", flat)) != flat:
            flat = less
        names = [part.split(":")[0].strip() for part in flat.split(",") if ":" in part or part.strip() == "self"]
        assert [n for n in names if n not in ("self",) and not n.startswith("**")] in (
            wanted,
            [f"arg{i}" for i in range(3)],
        )


@pytest.mark.parametrize(("name", "stub", "found"), FUNCTIONS, ids=[name for name, *_ in FUNCTIONS])
def test_the_examples_hold(name: str, stub: ast.FunctionDef, found: object) -> None:
    space = {"np": np, "CodedRows": Codes, "Boosting": Boosting, **vars(kernels.native)}
    text = ast.get_docstring(stub) or ""
    test = doctest.DocTestParser().get_doctest(text, space, name, None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0

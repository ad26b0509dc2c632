"""Memory is refused above the budget and not at it; sizes are printed in the unit they reach."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from posteriori.budget import _limits, human, memory_budget, refuse_over
from posteriori.errors import BadParameter, MemoryBudgetError


def test_the_budget_itself_is_allowed():
    refuse_over(1000, 1000, "a table")
    with pytest.raises(MemoryBudgetError, match="a table would take 1001 bytes, over the budget of 1000 bytes; less"):
        refuse_over(1000, 1001, "a table", "less")


@pytest.mark.parametrize("bad", [0, -1, True, "many", float("nan")])
def test_a_budget_is_a_number_above_zero(bad):
    with pytest.raises(BadParameter, match="max_memory"):
        memory_budget(bad)


def test_a_budget_may_be_any_number():
    assert memory_budget(np.float32(2)) == 2.0
    assert memory_budget(0.5) == 0.5
    assert memory_budget() > 2**20


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (2**20 - 1, "1024.0 KiB"), (2**20, "1.0 MiB"),
        (2**30, "1.0 GiB"), (2**40, "1.0 TiB"), (99_999 * 2**40, "99999.0 TiB"), (1e5 * 2**40, "1e+05 TiB"),
    ],
)  # fmt: skip
def test_sizes_as_people_read_them(size, said):
    assert human(size) == said


@pytest.mark.parametrize(
    ("groups", "files", "least"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "500\n", "memory.max": "900\n"}, 500),
        ("0::/a/b\n", {"memory.max": "900\n"}, 900),  # a container sees its own group as the root
        ("4:cpu,memory:/x/y\n0::/\n", {"memory/x/memory.limit_in_bytes": "700\n"}, 700),
        ("4:cpuset:/x\n0::/\n", {"memory/x/memory.limit_in_bytes": "700\n"}, float("inf")),
        ("", {"memory.max": "900\n"}, float("inf")),
    ],
)
def test_control_groups_and_those_above_them_are_limits(tmp_path, groups, files, least):
    files = {f"sys/fs/cgroup/{name}": text for name, text in files.items()} | {"proc/self/cgroup": groups}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert min(list(_limits(tmp_path))[1:], default=float("inf")) == least


def test_a_limit_of_the_process_is_a_limit():
    code = "from posteriori.budget import memory_budget; print(memory_budget())"
    shell = f"ulimit -v 3000000; exec {sys.executable} -c '{code}'"
    assert float(subprocess.run(["bash", "-c", shell], check=True, capture_output=True).stdout) == 1_500_000 * 1024

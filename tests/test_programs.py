"""What a test needs is installed once, by the right commands, or the reason is told."""

from __future__ import annotations

import subprocess

import pytest

from . import programs


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine with apt and root, where nothing is installed; what was run on it."""
    ran, there = [], set()

    def run(command, **how):
        ran.append(command)
        assert how["env"]["DEBIAN_FRONTEND"] == "noninteractive"
        assert how["timeout"] == 600
        return subprocess.CompletedProcess(command, ran.code, "", "E: no such package")

    class Ran(list):
        code = 0

    ran = Ran()
    monkeypatch.setattr(programs.subprocess, "run", run)
    monkeypatch.setattr(programs.os, "geteuid", lambda: 0)
    monkeypatch.setattr(programs.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(programs.shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    monkeypatch.setattr(programs, "found", lambda name: name if name in there else None)
    ran.there = there
    return ran


def test_a_package_is_installed_by_apt_without_questions(machine, monkeypatch):
    monkeypatch.setattr(
        programs, "found", lambda name: "/bin/x" if any("install" in command for command in machine) else None
    )
    assert programs.installed("initdb", "postgresql") == ""
    assert machine == [
        ["apt-get", "-q", "update"],
        ["apt-get", "-q", "install", "-y", "--no-install-recommends", "postgresql"],
    ]


def test_it_is_tried_once_and_the_reason_told(machine):
    machine.code = 100
    assert programs.installed("chromium", "chromium") == "apt-get install failed: E: no such package"
    assert len(machine) == 2
    assert programs.installed("chromium", "chromium") == "apt-get did not install it"
    assert len(machine) == 2


def test_another_process_may_have_installed_it(machine):
    machine.there.add("chromium")
    assert programs.installed("chromium", "chromium") == ""
    assert machine == []


def test_a_package_without_the_program_is_no_success(machine):
    assert programs.installed("initdb", "sl") == "apt-get installed sl, which has no initdb"


def test_a_hanging_apt_is_ended(machine, monkeypatch):
    def run(command, **how):
        raise subprocess.TimeoutExpired(command, how["timeout"])

    monkeypatch.setattr(programs.subprocess, "run", run)
    assert programs.installed("chromium", "chromium") == "apt-get update took over ten minutes"


def test_only_root_installs(machine, monkeypatch):
    monkeypatch.setattr(programs.os, "geteuid", lambda: 1000)
    assert "only root" in programs.installed("chromium", "chromium")
    assert machine == []

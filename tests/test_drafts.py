"""A file is written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from posteriori.drafts import changing, whole_file
from posteriori.errors import WriteError


def write(file, failure):
    with whole_file(file) as stream:
        stream.write(b"new")
        raise failure


def test_what_fails_leaves_the_old_file_and_no_draft(tmp_path):
    file = tmp_path / "a"
    file.write_bytes(b"old")
    for failure in (KeyboardInterrupt, ValueError, OSError(28, "No space left on device")):
        wanted = WriteError if isinstance(failure, OSError) else failure
        with pytest.raises(wanted):
            write(file, failure)
        assert file.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_is_told_in_one_line(tmp_path):
    with pytest.raises(WriteError, match="No space left on device; what was there is as it was"):
        write(tmp_path / "a", OSError(28, "No space left on device"))
    assert os.listdir(tmp_path) == []


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "a").chmod(0o640)
    (tmp_path / "link").symlink_to("a")
    with whole_file(tmp_path / "link") as stream:
        stream.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "a") as stream:
            stream.write(b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["", "missing/a", "fifo"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(WriteError), whole_file(tmp_path / name):
        pass
    assert os.listdir(tmp_path) == ["fifo"]


KILLED = """
import os, signal, sys
from posteriori.drafts import changing, whole_file
with whole_file(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_process_left_goes_with_the_next_writing(tmp_path):
    file = tmp_path / "a.posteriori"
    file.write_bytes(b"old")
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", KILLED, str(file)], check=False)
        assert done.returncode == -signal.SIGKILL
    (young, old) = sorted(p for p in tmp_path.iterdir() if p != file)
    assert file.read_bytes() == b"old"
    os.utime(old, (0, time.time() - 3700))
    strangers = [".a.posteriori.draft", ".a.posteriori.0123456789abcdeX.draft", ".b.posteriori.0123456789abcdef.draft"]
    strangers += ["a.posteriori.0123456789abcdef.draft", ".aXposteriori.0123456789abcdef.draft"]
    for name in strangers:
        (tmp_path / name).write_bytes(b"mine")
        os.utime(tmp_path / name, (0, 0))
    (tmp_path / ".a.posteriori.00000000000000aa.draft").mkdir()
    (tmp_path / ".a.posteriori.00000000000000bb.draft").symlink_to(file)
    kept = {
        file.name,
        young.name,
        *strangers,
        ".a.posteriori.00000000000000aa.draft",
        ".a.posteriori.00000000000000bb.draft",
    }
    with whole_file(file) as stream:
        stream.write(b"new")
    assert set(os.listdir(tmp_path)) == kept
    assert file.read_bytes() == b"new"
    os.utime(young, (0, 0))
    with pytest.raises(ValueError, match="nothing"), whole_file(file) as stream:
        raise ValueError("nothing")
    assert set(os.listdir(tmp_path)) == kept - {young.name}


LEARNER = """
import sys, time
from posteriori.drafts import changing, whole_file
for _ in range(25):
    with changing(sys.argv[1], lambda: None) as check:
        with open(sys.argv[1]) as file: n = int(file.read())
        time.sleep(0.001)
        check()
        with whole_file(sys.argv[1]) as stream: stream.write(str(n + 1).encode())
"""


def test_two_processes_that_change_one_file_lose_no_change(tmp_path):
    file = tmp_path / "n"
    file.write_text("0")
    running = [subprocess.Popen([sys.executable, "-c", LEARNER, str(file)]) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert (file.read_text(), os.listdir(tmp_path)) == ("50", ["n"])


def test_a_file_that_others_replaced_meanwhile_is_not_written(tmp_path):
    file = tmp_path / "n"
    file.write_text("0")
    with changing(file, pytest.fail) as check:
        check()
        with whole_file(file) as stream:  # by somebody who did not ask
            stream.write(b"1")
        with pytest.raises(WriteError, match="changed by another process meanwhile; nothing was written"):
            check()
    with changing(tmp_path / "none", pytest.fail) as check:
        check()

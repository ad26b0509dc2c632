"""A file is written whole or not at all."""

from __future__ import annotations

import os
import stat

import pytest

from posteriori.drafts import whole_file
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

"""Programs that a test needs: where they are, and how Debian installs them."""

from __future__ import annotations

import fcntl
import glob
import os
import pathlib
import shutil
import subprocess
import tempfile


def found(program):
    """The path of a program, or None; Debian keeps those of a database server off the path."""
    return shutil.which(program) or max(glob.glob(f"/usr/lib/postgresql/*/bin/{program}"), default=None)


def commands(package):
    """What installs a Debian package, one command after the other."""
    return [["apt-get", "-q", "update"], ["apt-get", "-q", "install", "-y", "--no-install-recommends", package]]


def installed(program, package):
    """Install a package for a program, one process at a time and once; what went wrong, or nothing."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return "only root can install it, and only with apt"
    tried = pathlib.Path(tempfile.gettempdir(), f"posteriori-{package}-{os.getppid()}.tried")
    with pathlib.Path(tempfile.gettempdir(), "posteriori-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if found(program):
            return ""
        if tried.exists():
            return "apt-get did not install it"
        tried.touch()
        quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "capture_output": True, "text": True}
        for command in commands(package):
            try:
                done = subprocess.run(command, timeout=600, check=False, **quiet)
            except subprocess.TimeoutExpired:
                return f"apt-get {command[2]} took over ten minutes"
        if done.returncode:  # an update that fails may leave lists that are good enough
            return f"apt-get {command[2]} failed: {done.stderr.strip()[-300:]}"
        return "" if found(program) else f"apt-get installed {package}, which has no {program}"

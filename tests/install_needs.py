"""Install the programs that some tests need, where this machine lets us (root and apt); else say what will be skipped."""

from __future__ import annotations

import os
import shutil
import subprocess

NEEDS: dict[str, str] = {}  # program -> Debian package

missing = {program: package for program, package in NEEDS.items() if shutil.which(program) is None}
if missing:
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", *missing.values()], check=False)
    for program in missing:
        if shutil.which(program) is None:
            print(f"tests that need {program} will be skipped: it is not installed")

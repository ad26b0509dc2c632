"""Every benchmark of this folder, one after the other."""

import pathlib
import subprocess
import sys

here = pathlib.Path(__file__).parent
failed = [s.name for s in sorted(here.glob("bench_*.py")) if subprocess.run([sys.executable, str(s)]).returncode]
if failed:
    sys.exit(f"failed: {', '.join(failed)}")

#!/usr/bin/env bash
# The kernel tests under the address and undefined-behaviour sanitizers, in an environment and a build of their own.
# Any finding ends the run with an error. PYTHON may name the interpreter, PYTEST_ARGS what to run.
set -euo pipefail
cd "$(dirname "$0")/../.."
home="$PWD/build/sanitize"
python="$home/venv/bin/python"
if [ ! -x "$python" ]; then
    "${PYTHON:-python3}" -m venv "$home/venv"
    "$python" -m pip install --quiet --disable-pip-version-check "scikit-build-core>=0.11" "nanobind>=2.4" numpy scipy \
        scikit-learn pytest hypothesis mpmath
fi
# not editable: the package in the source tree keeps its own, unsanitized modules
"$python" -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall \
    -C build-dir="$home/{wheel_tag}" -C cmake.define.POSTERIORI_SANITIZE=ON -C install.strip=false .
# the interpreter is not sanitized, so the runtimes come first; its own leaks are none of our findings
asan="$("${CXX:-c++}" -print-file-name=libasan.so)"
ubsan="$("${CXX:-c++}" -print-file-name=libubsan.so)"
stdcxx="$("${CXX:-c++}" -print-file-name=libstdc++.so)"
export LD_PRELOAD="$asan $ubsan $stdcxx"
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export PYTHONMALLOC=malloc
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
mkdir "$copy/tests"
cp -r tests/kernels tests/conftest.py tests/programs.py "$copy/tests"
cd "$copy"
"$python" - <<'CHECK'
import posteriori.kernels as kernels
modules = open("/proc/self/maps").read() if kernels.native() else ""
assert "libasan" in modules and "sanitize" in kernels.__file__, "the sanitized build is not the one under test"
CHECK
for isa in avx2 base; do
    echo "kernel tests under the sanitizers ($isa)"
    # the test that runs the others without AVX2 is what this loop does already
    POSTERIORI_ISA=$isa "$python" -m pytest -q -p no:cacheprovider --import-mode=importlib -k "not base_instruction_set" ${PYTEST_ARGS:-tests/kernels}
done

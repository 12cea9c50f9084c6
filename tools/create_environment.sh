#!/usr/bin/env bash
# Fill the virtual environment FOLDER with what a lock pins, checked by hashes, and with this project, editable.
#
#   tools/create_environment.sh FOLDER LOCK [BASE]
#
# BASE         another environment, whose PyTorch serves here, too
# PYTHON       the interpreter to use; by default the first one on PATH that is new enough
# TORCH_INDEX  the package index for PyTorch alone, e.g. https://download.pytorch.org/whl/cpu; by default pip's own
set -euo pipefail
cd "$(dirname "$0")/.."

absolute() {
    case $1 in "" | /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac
}

folder=$(absolute "$1") lock=$2 base=$(absolute "${3:-}")
oldest="3.11"

is_suitable() {
    "$1" -c "import sys, venv, ensurepip; sys.exit(sys.version_info < (${oldest/./, }))" >/dev/null 2>&1
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python}; do
        if is_suitable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "No usable interpreter among: ${PYTHON:-python3 python3.13 python3.12 python3.11 python}." >&2
    echo "Install Python $oldest or newer with its venv module (on Debian and Ubuntu: python3-venv)," >&2
    echo "or name one: make PYTHON=/path/to/python3" >&2
    return 1
}

# An environment whose creation was cut short may hold half-written packages, so it is made anew.
unfinished="$folder/unfinished"
if [ -e "$unfinished" ] || ! is_suitable "$folder/bin/python"; then
    if [ -n "$base" ]; then python="$base/bin/python"; else python=$(find_python); fi
    echo "Creating $folder with $("$python" --version) ..."
    mkdir -p "$folder"
    touch "$unfinished"
    "$python" -m venv --clear "$folder"
fi
touch "$unfinished"

python="$folder/bin/python"
pip() {
    "$python" -m pip --disable-pip-version-check "$@"
}

version_of() {
    sed -n "s/^\($1==[^ ]*\).*/\1/p" "$lock"
}

packages_of() {
    "$1/bin/python" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
}

# PyTorch comes first and alone: which build it is depends on the machine, and so does what that build needs.
if [ -n "$base" ]; then
    echo "import site; site.addsitedir('$(packages_of "$base")')" > "$(packages_of "$folder")/base.pth"
else
    echo "Installing PyTorch ..."
    pip install ${TORCH_INDEX:+--no-deps --index-url "$TORCH_INDEX"} "$(version_of torch)"
    pip install --quiet "$(version_of uv)"
fi
echo "Installing the other packages of $lock ..."
# Elsewhere uv would apply the overrides of pyproject.toml, which leave JAX out.
packages=$(sed '/^torch==/,/[^\\]$/d' "$lock")
(cd / && "${base:-$folder}/bin/uv" pip install --python "$python" --no-deps --require-hashes --requirement <(echo "$packages"))
pip install --quiet --no-deps --no-build-isolation --editable .
rm "$unfinished"
echo "$folder is ready."

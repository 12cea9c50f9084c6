#!/usr/bin/env bash
# Fill the virtual environment FOLDER with everything that requirements.lock pins and with this project, editable.
#
#   tools/create_environment.sh FOLDER
#
# PYTHON       the interpreter to use; by default the first one on PATH that is new enough
# TORCH_INDEX  the package index for PyTorch alone, e.g. https://download.pytorch.org/whl/cpu; by default pip's own
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
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
    python=$(find_python)
    echo "Creating $folder with $("$python" --version) ..."
    mkdir -p "$folder"
    touch "$unfinished"
    "$python" -m venv --clear "$folder"
fi
touch "$unfinished"

pip() {
    "$folder/bin/python" -m pip --disable-pip-version-check "$@"
}

# PyTorch comes first and alone: the index that holds the small CPU builds holds few of the other packages.
echo "Installing PyTorch ..."
pip install --no-deps ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "$(grep '^torch==' requirements.lock)"
echo "Installing the other packages of requirements.lock ..."
pip install --quiet --requirement requirements.lock
pip install --quiet --no-deps --no-build-isolation --editable .
rm "$unfinished"
echo "$folder is ready."

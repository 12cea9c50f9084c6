#!/usr/bin/env bash
# Fill the virtual environment FOLDER with this project, editable, and with the oldest or the newest packages that
# pyproject.toml allows.
#
#   tools/create_resolved_environment.sh FOLDER lowest-direct|highest
#
# PYTHON            the interpreter to use (default: python3)
# UV_TORCH_BACKEND  the build of PyTorch to use, such as cpu
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
resolution=$2

"${PYTHON:-python3}" -m venv --clear "$folder"
"$folder/bin/python" -m pip --disable-pip-version-check install --quiet "uv>=0.8"
"$folder/bin/uv" pip install --python "$folder/bin/python" --resolution "$resolution" \
    --editable ".[play,train,onnx,export,render,dev]"
echo "$folder is ready."

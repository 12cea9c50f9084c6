"""Measures the size of an installation without extras and with each of them.

    python benchmarks/install_sizes.py [EXTRA …] [--torch WHEEL] [--write]

uv installs each extra into a new environment, with the CPU build of PyTorch if it needs PyTorch. ``gpu`` is
the extra ``train`` with pip's default build, and ``none`` the installation without extras. A size is that of
all files of the packages before anything is compiled. All extras together download some gigabytes, unless
they are in uv's cache.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from benchmarks.keeping import add_write_option, figure, write

PROJECT = Path(__file__).parents[1]
NONE, GPU = "none", "gpu"
"""The installation without extras, and that with PyTorch's build for GPUs."""


def extras() -> list[str]:
    """The extras for users: all but that of the project's own tests."""
    metadata = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    return [name for name in metadata["project"]["optional-dependencies"] if name != "dev"]


def measure(extra: str, torch: Path | None) -> int:
    """The bytes of all packages in a new environment with one extra."""
    with tempfile.TemporaryDirectory() as folder:
        environment, overrides = Path(folder, "environment"), Path(folder, "overrides.txt")
        overrides.write_text(f"torch @ {torch.resolve().as_uri()}\n" if torch else "", encoding="utf-8")
        build = ["--overrides", str(overrides)] if torch else ["--torch-backend", "cpu"]
        if extra == GPU:
            extra, build = "train", []
        what = str(PROJECT) if extra == NONE else f"{PROJECT}[{extra}]"
        uv("venv", "--python", sys.executable, str(environment))
        uv("pip", "install", "--python", str(environment), *build, what)
        packages = next(environment.rglob("site-packages"))
        return sum(path.stat().st_size for path in packages.rglob("*") if path.is_file())


def uv(*words: str) -> None:
    """Runs uv, quietly, without the settings of the project, which leave out packages."""
    subprocess.run([sys.executable, "-m", "uv", "--quiet", "--no-config", *words], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [NONE, GPU, *extras()]
    parser.add_argument("extras", nargs="*", choices=[[], *names], metavar="EXTRA", help="(default: all)")
    parser.add_argument(
        "--torch", type=Path, metavar="WHEEL", help="a CPU build of PyTorch (default: from its own index)"
    )
    add_write_option(parser)
    options = parser.parse_args()
    now = {
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "date": datetime.date.today().isoformat(),
        "command": "python benchmarks/install_sizes.py",
    }
    for extra in options.extras or names:
        size = measure(extra, options.torch) / 1e6
        print(f"{extra:12} {size:6,.0f} MB", flush=True)
        if options.write:
            write("install_sizes", now, {extra: figure(size, "MB")}, options.write)


if __name__ == "__main__":
    main()

"""The picture of a report, taken with a stand-in for the browser, which not every machine has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
STAND_IN = """#!{python}
import sys
from PIL import Image
size = next(a for a in sys.argv if a.startswith("--window-size=")).partition("=")[2].split(",")
page = open(sys.argv[-1].removeprefix("file://")).read()
assert "<h1>" in page
out = next(a for a in sys.argv if a.startswith("--screenshot=")).partition("=")[2]
Image.new("RGB", (int(size[0]), int(size[1])), "teal").save(out)
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "report_picture.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_report_picture(tmp_path: Path) -> None:
    run_folder, browser, picture = tmp_path / "run", tmp_path / "browser", tmp_path / "picture.png"
    run_folder.mkdir()
    (run_folder / "config.yaml").write_text("total_steps: 100")
    browser.write_text(STAND_IN.replace("{python}", sys.executable))
    browser.chmod(0o755)
    arguments = ["--out", str(picture), "--browser", str(browser)]
    done = run(str(run_folder), *arguments, "--height", "50")
    assert done.returncode == 0, done.stderr
    with Image.open(picture) as image:
        assert image.size == (1240, 50)
    done = run(str(tmp_path), *arguments)
    assert done.returncode == 2
    assert "is no run" in done.stderr
    done = run(str(run_folder), *arguments[:2], "--browser", str(tmp_path / "missing"))
    assert done.returncode == 2
    assert "missing" in done.stderr
    assert "Traceback" not in done.stderr

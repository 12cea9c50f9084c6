"""The picture of a report, taken with Chromium, and what is said where there is nothing to take."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tools.report_picture import BROWSERS

ROOT = Path(__file__).parents[2]


def run(*arguments):
    command = [sys.executable, str(ROOT / "tools" / "report_picture.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.slow
def test_a_picture_shows_the_top_of_the_report(tmp_path):
    if not any(map(shutil.which, BROWSERS)):
        pytest.skip("there is no Chromium")
    picture = tmp_path / "picture.png"
    (tmp_path / "config.yaml").write_text("total_steps: 100")
    done = run(str(tmp_path), "--out", str(picture), "--height", "150")
    assert done.returncode == 0, done.stderr
    with Image.open(picture) as image:
        assert image.size == (1240, 150)
        assert len(image.convert("L").getcolors()) > 5  # words on a page, not a page alone


@pytest.mark.slow
def test_what_cannot_be_taken_is_said(tmp_path):
    arguments = ["--out", str(tmp_path / "picture.png"), "--browser", str(tmp_path / "missing")]
    for folder, words in ((ROOT / "docs", "is no run"), (tmp_path, "missing")):
        (tmp_path / "config.yaml").write_text("total_steps: 100")
        done = run(str(folder), *arguments)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr

"""Takes a picture of the beginning of a run's report, as a browser without a window shows it.

python tools/report_picture.py runs/ppo --out docs/images/report.png

Needs Chromium or Chrome, and Pillow, which makes the file small.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from patchwork_env.learning.commands.report import main as write_report

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH = 1240
COLORS = 128


def screenshot(browser: str, page: Path, picture: Path, height: int) -> None:
    """Has a browser draw the top of a page."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={WIDTH},{height}",
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)


def made_small(picture: Path) -> bytes:
    """The picture as a PNG file with a palette."""
    from PIL import Image

    file = io.BytesIO()
    Image.open(picture).convert("RGB").quantize(COLORS).save(file, "PNG", optimize=True)
    return file.getvalue()


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Takes a picture of the beginning of a run's report.")
    parser.add_argument("run", type=Path, metavar="RUN_DIR", help="the folder of a run")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the picture, PNG")
    parser.add_argument("--height", type=int, default=1190, help="in pixels (default: 1190)")
    parser.add_argument("--browser", metavar="PATH", help=f"default: one of {', '.join(BROWSERS)}")
    options = parser.parse_args()
    browser = options.browser or next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("report_picture.py: there is no Chromium; name a browser with --browser", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        page, picture = Path(folder) / "report.html", Path(folder) / "report.png"
        code = write_report([str(options.run), "--out", str(page)])
        if code:
            return code
        try:
            screenshot(browser, page, picture, options.height)
            options.out.write_bytes(made_small(picture))
        except (OSError, subprocess.SubprocessError) as error:
            print(f"report_picture.py: {error}", file=sys.stderr)
            return 2
    print(f"wrote {options.out}, {options.out.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())

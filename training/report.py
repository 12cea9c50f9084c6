"""Write a page about a run, ended or not, as one HTML file without other files.

python -m training.report runs/ppo

The same in Python:

    from pathlib import Path

    from patchwork_env.learning.reports.run_page import render_page
    from patchwork_env.learning.reports.run_results import read_result

    runs = [read_result(Path("runs/ppo")), read_result(Path("runs/ppo-2"))]
    Path("comparison.html").write_text(render_page(runs))
"""

from patchwork_env.learning.commands.report import main

if __name__ == "__main__":
    raise SystemExit(main())

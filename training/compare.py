"""Compare configurations by several runs of each, with different seeds.

python -m training.compare runs/ppo-seed* runs/td-seed* --against greedy

The same in Python:

    from pathlib import Path

    from patchwork_env.learning.reports.comparison import compare, summary_table, write_curves
    from patchwork_env.learning.reports.run_results import read_result

    comparison = compare([read_result(path) for path in Path("runs").glob("ppo-seed*")], against=["greedy"])
    print(summary_table(comparison).csv())
    write_curves(comparison, Path("curves.svg"))
"""

from patchwork_env.learning.commands.compare import main

if __name__ == "__main__":
    raise SystemExit(main())

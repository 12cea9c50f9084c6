"""The site of documents, which `make docs` builds: Markdown by MyST, tutorials that run while it is built."""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
sys.path[:0] = [str(PROJECT), str(PROJECT / "docs")]

from patchwork_env import __version__  # noqa: E402

project = "patchwork_env"
author = "The patchwork-env authors"
release = version = __version__
language = "en"
highlight_language = "none"  # of blocks that name none: what programs print

extensions = [
    "generated",
    "finishing",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "images/*.md"]
suppress_warnings = ["mystnb.unknown_mime_type", "ref.python"]  # names that several modules show

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 1200  # of a cell, on a machine with other work
nb_execution_in_temp = True  # what tutorials write is gone afterwards
nb_output_stderr = "remove"
os.environ["MATPLOTLIBRC"] = str(PROJECT / "docs" / "matplotlibrc")  # the kernels of tutorials read these two
os.environ["PATCHWORK_ENV_QUIET"] = "1"

napoleon_use_ivar = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
autodoc_mock_imports = ["jax", "openenv", "pgx", "ray"]  # which are installed elsewhere

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.output) > div.highlight pre"

html_theme = "pydata_sphinx_theme"
html_title = "patchwork_env"
html_baseurl = os.environ.get("DOCS_URL", "")
"""The address of the site, if it is known; the sitemap and links in notebooks need it."""
if html_baseurl and not html_baseurl.endswith("/"):
    html_baseurl += "/"
html_favicon = "../patchwork_env/play/page/icon.svg"
html_context = {"default_mode": "auto"}
html_use_index = html_domain_indices = False
html_search_scorer = str(PROJECT / "docs" / "scorer.js")
search_words = {
    "games/patchwork": [
        "rules",
        "rules of Patchwork",
        "action space",
        "observation",
        "observation space",
        "reward",
    ],
    "games/nmbr9": ["rules", "rules of NMBR 9", "action space", "observation", "observation space"],
    "measure/evaluation": ["evaluate", "win rate"],
    "measure/gauntlet": ["rating", "Elo", "elo rating"],
    "measure/benchmark": ["leaderboard"],
    "play/page": ["play", "play online"],
    "reference/configuration/index": ["hyperparameters", "configuration", "YAML", "learning rate"],
    "reference/systems": ["Windows", "macOS", "Linux", "Python versions", "GPU", "CUDA"],
    "reference/troubleshooting": ["error", "problem", "slow", "FAQ"],
    "train/algorithms": ["hyperparameters", "PPO", "AlphaZero", "TD learning"],
    "train/long_runs": ["nohup", "tmux", "SLURM", "SIGHUP", "server"],
    "train/own_algorithm": ["custom network", "custom algorithm"],
    "train/runs": ["resume", "checkpoint", "TensorBoard", "hyperparameters"],
    "train/sb3": ["SB3", "train SB3", "MaskablePPO", "Stable-Baselines3", "PPO"],
    "train/self_play": ["self-play"],
    "train/sweeps": ["hyperparameter search", "Optuna"],
    "tutorials/first_policy": ["tutorial", "getting started", "quick start", "train"],
    "tutorials/own_ppo": ["custom PPO", "own PPO"],
    "use/adding_a_game": ["custom game", "own game"],
    "use/agents": ["custom agent", "own agent", "bot", "opponent"],
    "use/batches": ["vector environment", "vectorized"],
    "use/gymnasium": ["mask", "action mask", "masks", "action masking", "opponent", "render", "check_env"],
    "use/install": ["install", "installation", "pip"],
    "use/interfaces": ["multi-agent", "multiagent"],
    "use/jax": ["JAX", "Pgx", "mctx"],
    "use/language_models": ["LLM"],
    "use/pettingzoo": ["multi-agent", "AEC"],
    "use/libraries": ["CleanRL", "Tianshou", "AgileRL"],
}
"""Words that people search for, by the page that must be found first for them."""
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options: dict[str, Any] = {
    "logo": {"text": "patchwork_env"},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 8,
    "search_as_you_type": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

PAGE = PROJECT / "site"
"""The page to play on without a server, if `make site` has built it."""


def copy_page(app: Any, error: Exception | None) -> None:
    """Puts the page to play on beside the documents, whose front page shows it."""
    if error is None and PAGE.is_dir():
        shutil.copytree(PAGE, Path(app.outdir) / "page", dirs_exist_ok=True)


ROOT_FILES = "CHANGELOG|CONTRIBUTING|SECURITY"
"""Files of the project's root, each with a page in ``reference`` that includes it."""


def include_root_file(app: Any, name: str, source: list[str]) -> None:
    """Puts a file of the root in the place of its ``include``, with links that hold from the page."""

    def contents(match: re.Match[str]) -> str:
        path = PROJECT / match[1]
        app.env.note_dependency(str(path))
        text = re.sub(r"\]\((?!#|[a-z]+:)", "](../../", path.read_text(encoding="utf-8"))
        text = re.sub(rf"\.\./\.\./({ROOT_FILES})\.md", lambda file: f"{file[1].lower()}.md", text)
        return text.replace("](../../docs/", "](../")

    source[0] = re.sub(rf"^```{{include}} \.\./\.\./((?:{ROOT_FILES})\.md)\n```", contents, source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", include_root_file)
    app.connect("build-finished", copy_page)
    app.tags.add("page" if PAGE.is_dir() else "no_page")

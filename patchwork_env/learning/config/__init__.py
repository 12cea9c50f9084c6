"""The configuration of a run: typed and strict, from defaults, a YAML file and ``--set``."""

from patchwork_env.learning.config.keys import (
    ClusterRun,
    League,
    Reward,
    RewardedRun,
    RunConfig,
    Schedule,
    changes_learning,
)
from patchwork_env.learning.config.loading import (
    CONFIGS,
    algorithms,
    dump_config,
    explain,
    flattened,
    list_configs,
    load_config,
    parse_yaml,
    trainer_class,
)

__all__ = [
    "CONFIGS",
    "ClusterRun",
    "League",
    "Reward",
    "RewardedRun",
    "RunConfig",
    "Schedule",
    "algorithms",
    "changes_learning",
    "dump_config",
    "explain",
    "flattened",
    "list_configs",
    "load_config",
    "parse_yaml",
    "trainer_class",
]

"""The configuration of a run: typed and strict, from defaults, a YAML file and ``--set``."""

from patchwork_env.agents.network_config import NetworkConfig
from patchwork_env.core.sections import Section
from patchwork_env.errors import ConfigError
from patchwork_env.learning.config.keys import (
    Cluster,
    ClusterRun,
    Evaluation,
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
    find_config,
    flattened,
    list_configs,
    load_config,
    parse_yaml,
    trainer_class,
)

__all__ = [
    "CONFIGS",
    "Cluster",
    "ClusterRun",
    "ConfigError",
    "Evaluation",
    "League",
    "NetworkConfig",
    "Reward",
    "RewardedRun",
    "RunConfig",
    "Schedule",
    "Section",
    "algorithms",
    "changes_learning",
    "dump_config",
    "explain",
    "find_config",
    "flattened",
    "list_configs",
    "load_config",
    "parse_yaml",
    "trainer_class",
]

"""The parts of :mod:`patchwork_env.integrations.open_spiel`, which is what to import."""

"""PPO of RLlib: the games as its environments and the project's networks as its modules. Needs Ray."""

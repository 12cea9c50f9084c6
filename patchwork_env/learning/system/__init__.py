"""What runs and commands need of the operating system: locks, signals, memory."""

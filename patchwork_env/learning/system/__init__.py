"""What runs and commands need of the operating system: files, locks, signals, memory."""

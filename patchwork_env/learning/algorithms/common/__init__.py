"""What several algorithms have in common."""

"""sb3-contrib's MaskablePPO on the compiled batch."""

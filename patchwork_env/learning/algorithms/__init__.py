"""The algorithms that agents learn by, each in a folder of its own."""

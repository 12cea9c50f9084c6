"""The parts that all games share: kernels, bits, random streams, storage and checks."""

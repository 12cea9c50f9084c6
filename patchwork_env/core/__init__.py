"""What all games build on: kernels, bits, random streams, threads, storage and checks; it knows no game."""

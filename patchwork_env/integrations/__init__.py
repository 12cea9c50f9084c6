"""Other libraries: each module here is for one of them, and is imported only when it is asked for."""

"""The parts that the page, the engine and the servers for language models share."""

"""What the page, the engine and the servers for language models share; it knows none of them."""

"""What the page, the engine and the servers for language models share; it knows none of them.

Positions and analyses ready for JSON, agents that are lent to one request at a time, and work in threads.
"""

"""The WebAssembly modules, one for each game: their memory, and the functions that they export.

An export is a plain function with integer arguments that returns a number. It works on the game in the field
``states`` of the module's memory. JavaScript reads and writes this record.
"""

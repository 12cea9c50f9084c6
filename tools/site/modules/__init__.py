"""The WebAssembly modules, one for each game: their memory, and the functions that they export.

An export is a plain function of whole numbers that returns a number. It works on the game that lies in the
field ``states`` of the module's memory, into which JavaScript writes records and from which it reads them.
"""

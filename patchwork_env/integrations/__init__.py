"""Adapters to other libraries, one module for each; none is imported with the package."""

"""Configurations compared by several runs of each: tables, curves, and how sure they are."""

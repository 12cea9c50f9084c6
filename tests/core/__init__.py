"""Tests of what knows no game."""

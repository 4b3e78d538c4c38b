"""Compiled passes over a model's flat arrays.  One file an algorithm; layout.py says what stands where."""

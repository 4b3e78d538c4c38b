"""A mechanism that moves from one communication point to the next, as compiled code: see record.py."""

"""Models as FMI co-simulation units.

This package sits above `liegeo` and may import all of it; nothing in `liegeo` imports it.
"""

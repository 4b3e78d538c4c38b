"""FMUs without Python: libraries from kernels (library.py), and the data of a model (data.py)."""

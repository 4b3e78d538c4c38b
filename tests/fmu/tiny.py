"""A slave without numpy and liegeo behind the guard: the integral of its input.  valgrind is soon through it."""

import ctypes
import sys

from block import CHANNEL, MAGIC, Ask, Block, Mode, VariableKind

# see the script of FMUs in fmu_export/package.py
ctypes.pythonapi.Py_IncRef(ctypes.py_object(globals()))
sys.__dict__.setdefault("_tiny_keep", []).append(globals())


class Fmi2Slave:
    pass


class Tiny(Fmi2Slave):
    def __init__(self, **given):
        self.log_queue = []
        self.values = (ctypes.c_double * 2)()
        self.kinds = (ctypes.c_uint16 * 2)(
            VariableKind.REAL | VariableKind.INPUT, VariableKind.REAL | VariableKind.OUTPUT | VariableKind.DIRECT
        )
        self.names = (ctypes.c_char_p * 2)(b"input", b"integral")
        self.integral = 0.0

    def _get_log_queue(self):
        return self.log_queue

    def set_integer(self, references, values):
        low, high = (value % 2**32 for value in values)
        self.block = Block.from_address(high << 32 | low)
        assert self.block.magic == MAGIC
        self.block.n, self.block.status = 2, 0
        self.block.guid, self.block.names = b"any", self.names
        self.block.values, self.block.kinds = ctypes.addressof(self.values), ctypes.addressof(self.kinds)

    def get_integer(self, references):
        if references[0] == CHANNEL + Ask.REFRESH:
            self.values[1] = self.integral
            self.block.fresh = 1
        return [0]

    def setup_experiment(self, *times):
        pass

    def enter_initialization_mode(self):
        pass

    def exit_initialization_mode(self):
        self.block.time = self.block.start

    def do_step(self, t, size):
        assert self.block.mode == Mode.STEPPING
        self.integral += self.values[0] * size
        self.block.time, self.block.fresh = t + size, 0
        return True

    def terminate(self):
        pass

    def _get_fmu_state(self):
        return {"integral": self.integral, "mode": self.block.mode, "time": self.block.time}

    def _set_fmu_state(self, state):
        self.integral, self.block.mode, self.block.time = state["integral"], state["mode"], state["time"]
        self.block.fresh = 0

    @staticmethod
    def _fmu_state_to_bytes(state):
        return repr(state).encode()

    @staticmethod
    def _fmu_state_from_bytes(data):
        return eval(data.decode())

"""What workloads of the tests here begin with: their process calls itself `sonde-work` from then on, so that what the
interpreter does to start has another name."""

import ctypes

NAME = "sonde-work"
ctypes.CDLL(None).prctl(15, NAME.encode(), 0, 0, 0)

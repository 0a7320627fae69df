"""Inputs of the kernels: the sizes and ranges of `benches/kernels`, other random numbers."""

import numpy as np


def uniform(seed, n, low=-1.0, high=1.0, dtype=np.float32):
    return np.random.default_rng(seed).uniform(low, high, n).astype(dtype)


def matrix(seed, n, low=0.0, high=1.0, dtype=np.float32):
    return uniform(seed, n * n, low, high, dtype).reshape(n, n)


def keys(seed, n, below):
    return np.random.default_rng(seed).integers(0, below, n, dtype=np.uint32)


def segments(seed, n):
    """Lengths from 0 to 199 that are `n` elements together, and the segment of each element."""
    lengths = np.random.default_rng(seed).integers(0, 200, n // 50)
    ends = np.minimum(np.cumsum(lengths), n)
    lengths = np.diff(ends, prepend=0)
    lengths = lengths[: int(np.searchsorted(ends, n)) + 1]
    return lengths.astype(np.int32), np.repeat(np.arange(len(lengths)), lengths)


def sparse(n):
    """Lengths of rows, the row and the column of each entry, its value, and the vector."""
    rng = np.random.default_rng(30)
    lengths = rng.integers(0, 21, n)
    entries = int(lengths.sum())
    rows = np.repeat(np.arange(n), lengths)
    return lengths, rows, rng.integers(0, n, entries), uniform(31, entries), uniform(32, n)


RATE, VOLATILITY = np.float32(0.02), np.float32(0.30)
# Abramowitz and Stegun, 26.2.17.
TAIL = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530]
CORNER, SIDE, MIDDLE = np.float32(0.0625), np.float32(0.125), np.float32(0.25)
SOFTENING = np.float32(1e-3)
CENTRES = 16
MANDELBROT, STEPS = 1024, 256


def options(n):
    return uniform(6, n, 5, 30), uniform(7, n, 1, 100), uniform(8, n, 0.25, 10)


def bodies(n):
    return [uniform(s, n) for s in (9, 10, 11)] + [uniform(12, n, 0.1, 1.0)]


def points(n):
    return [uniform(s, n, 0, 1) for s in (24, 25)], [uniform(s, CENTRES, 0, 1) for s in (26, 27)]

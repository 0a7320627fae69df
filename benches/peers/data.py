"""Inputs of the kernels: the very numbers of `benches/kernels/data.rs`."""

import numpy as np


def numbers(seed, n):
    """`n` numbers of 32 bits: the high halves of a linear congruential generator's states (Knuth's MMIX constants)."""
    mask = (1 << 64) - 1
    a, c = 6_364_136_223_846_793_005, 1_442_695_040_888_963_407
    state = (((seed * 0x9E37_79B9_7F4A_7C15) & mask | 1) * a + c) & mask
    states = np.array([state], np.uint64)
    # As many steps as there are states, all at once: they are again a multiplication and an addition.
    while len(states) < n:
        states = np.concatenate([states, states * np.uint64(a) + np.uint64(c)])
        a, c = (a * a) & mask, (a * c + c) & mask
    return (states[:n] >> np.uint64(32)).astype(np.uint32)


def below(bits, n):
    return ((bits.astype(np.uint64) * np.uint64(n)) >> np.uint64(32)).astype(np.uint32)


def uniform(seed, n, low=-1.0, high=1.0, dtype=np.float32):
    return (low + (high - low) * (numbers(seed, n) / 4_294_967_296.0)).astype(np.float32).astype(dtype)


def matrix(seed, n, low=0.0, high=1.0, dtype=np.float32):
    return uniform(seed, n * n, low, high, dtype).reshape(n, n)


def keys(seed, n, limit):
    return below(numbers(seed, n), limit)


def segments(seed, n):
    """Lengths from 0 to 199 that are `n` elements together, and the segment of each element."""
    ends = np.minimum(np.cumsum(keys(seed, n // 50, 200), dtype=np.int64), n)
    lengths = np.diff(ends, prepend=0)[: int(np.searchsorted(ends, n)) + 1]
    return lengths.astype(np.int32), np.repeat(np.arange(len(lengths)), lengths)


def sparse(n):
    """Lengths of rows, the row and the column of each entry, its value, and the vector."""
    bits = numbers(30, 12 * n)
    lengths = below(bits[:n], 21).astype(np.int64)
    entries = int(lengths.sum())
    columns = below(bits[n : n + entries], n).astype(np.int64)
    rows = np.repeat(np.arange(n), lengths)
    return lengths, rows, columns, uniform(31, entries), uniform(32, n)


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


BINS, HEAT_STEPS, RATE_OF_HEAT = 256, 100, np.float32(0.2)


def mixture(dimensions, centres, n):
    """Points, logarithms of weights, means, and logarithms of inverse deviations."""
    x, means = uniform(40, n * dimensions, 0, 1), uniform(42, centres * dimensions, 0, 1)
    scales = uniform(43, centres * dimensions, -0.5, 0.5)
    return x.reshape(n, -1), uniform(41, centres), means.reshape(centres, -1), scales.reshape(centres, -1)


def clusters(dimensions, centres, n):
    """Points near centres, and centres that are not in the middle of them."""
    middles = uniform(44, centres * dimensions, 0, 1).reshape(centres, -1)
    unit = numbers(45, (n + centres) * dimensions).reshape(n + centres, -1) / 4_294_967_296.0
    points = middles[np.arange(n) % centres] + (unit[:n] * 0.6 - 0.3).astype(np.float32)
    return points, middles + (unit[n:] * 0.1).astype(np.float32)


def interpolated(n):
    """Positions among bins, weights, and numbers for the bins."""
    return uniform(46, n, 0, BINS - 1 - 1e-3), uniform(47, n, 0, 1), uniform(48, BINS, 0, 1)


BATCH, LEARNING_RATE = 100, np.float32(0.05)


def network():
    """Filters and biases of two convolutions, weights and biases of the last layer."""
    first = uniform(113, 150, -0.8, 0.8).reshape(6, 1, 5, 5), uniform(114, 6, -0.2, 0.2)
    second = uniform(115, 1800, -0.3, 0.3).reshape(12, 6, 5, 5), uniform(116, 12, -0.08, 0.08)
    return *first, *second, uniform(117, 1920, -0.07, 0.07).reshape(10, 192), np.full(10, -2.2, np.float32)


def examples(count):
    """Images and labels: of each label a pattern, under noise."""
    labels = keys(110, count, 10).astype(np.int64)
    patterns = uniform(111, 10 * 28 * 28, 0, 0.5).reshape(10, 28, 28)
    return uniform(112, count * 28 * 28, 0, 0.5).reshape(count, 28, 28) + patterns[labels], labels


def networks(training, test):
    """The rows' ids; each function takes the parameters of the network, images and labels."""
    steps, images = 2, 10_000
    return {
        f"cnn: training {steps} steps of {BATCH} images": lambda: training(*network(), *examples(steps * BATCH)),
        f"cnn: a test pass {images} images": lambda: test(*network(), *examples(images)),
    }

"""The kernels in Numba: loops, compiled for all cores."""

import math
import sys

import numpy as np
from numba import get_num_threads, njit, prange

import data as d
import papers_in_numba
from serve import serve
from with_numpy import kernels

f32 = np.float32
fast = njit(parallel=True, fastmath=True)
inline = njit(fastmath=True, inline="always")
RATE, VOLATILITY, SOFTENING = d.RATE, d.VOLATILITY, d.SOFTENING
CORNER, SIDE, MIDDLE, CENTRES = d.CORNER, d.SIDE, d.MIDDLE, d.CENTRES
TAIL = tuple(f32(c) for c in d.TAIL)


def into(f, inputs, *outputs, memory=()):
    """A call that writes outputs made before, with memory of its own."""

    def call():
        f(*inputs, *memory, *outputs)
        return outputs

    return call


def parts(*extents, dtype=f32):
    """Memory for each thread."""
    return np.empty((get_num_threads(), *extents), dtype)


@fast
def run_saxpy(x, y, out):
    for i in prange(len(x)):
        out[i] = f32(2.5) * x[i] + y[i]


def saxpy(n):
    return into(run_saxpy, (d.uniform(1, n), d.uniform(2, n)), np.empty(n, f32))


@fast
def run_polynomial(x, out):
    for i in prange(len(x)):
        t = x[i] * f32(1.3) - f32(0.7)
        u = t * t
        v = u - x[i]
        w = max(v * f32(0.25) + t, f32(-0.7))
        out[i] = min(w * u + x[i], f32(1.3)) * v


def polynomial(n):
    return into(run_polynomial, (d.uniform(3, n),), np.empty(n, f32))


@fast
def run_dot(x, y):
    s = f32(0)
    for i in prange(len(x)):
        s += x[i] * y[i]
    return s


def dot(n):
    x, y = d.uniform(4, n), d.uniform(5, n)
    return lambda: run_dot(x, y)


@inline
def normal(x):
    k = f32(1) / (f32(1) + f32(0.2316419) * abs(x))
    p = f32(0)
    for c in TAIL:
        p = (p + c) * k
    tail = math.exp(f32(-0.5) * x * x) * f32(0.3989423) * p
    return f32(1) - tail if x > 0 else tail


@fast
def run_black_scholes(price, strike, years, call, put):
    for i in prange(len(price)):
        root = VOLATILITY * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (RATE + f32(0.5) * VOLATILITY * VOLATILITY) * years[i]) / root
        discounted = strike[i] * math.exp(-RATE * years[i])
        c = price[i] * normal(d1) - discounted * normal(d1 - root)
        call[i] = c
        put[i] = c + discounted - price[i]


def black_scholes(n):
    return into(run_black_scholes, d.options(n), np.empty(n, f32), np.empty(n, f32))


@fast
def run_mandelbrot(n, limit, out):
    step = f32(3.0 / n)
    for j in prange(n):
        for i in range(n):
            cx, cy = f32(i) * step - f32(2), f32(j) * step - f32(1.5)
            x = y = f32(0)
            k = 0
            while x * x + y * y <= f32(4) and k < limit:
                x, y = x * x - y * y + cx, f32(2) * x * y + cy
                k += 1
            out[j, i] = k


def mandelbrot():
    return into(run_mandelbrot, (d.MANDELBROT, d.STEPS), np.empty((d.MANDELBROT, d.MANDELBROT), np.int32))


@fast
def run_bodies(x, y, z, m, ax, ay, az):
    for i in prange(len(x)):
        sx = sy = sz = f32(0)
        for j in range(len(x)):
            dx, dy, dz = x[j] - x[i], y[j] - y[i], z[j] - z[i]
            inverse = f32(1) / math.sqrt(dx * dx + dy * dy + dz * dz + SOFTENING)
            g = m[j] * inverse * inverse * inverse
            sx += g * dx
            sy += g * dy
            sz += g * dz
        ax[i], ay[i], az[i] = sx, sy, sz


def bodies(n):
    return into(run_bodies, d.bodies(n), *[np.empty(n, f32) for _ in range(3)])


@fast
def run_five_point(a, out):
    n = len(a)
    for i in prange(n):
        up, down = max(i - 1, 0), min(i + 1, n - 1)
        for j in range(1, n - 1):
            out[i, j] = f32(0.5) * a[i, j] + f32(0.125) * (a[up, j] + a[down, j] + a[i, j - 1] + a[i, j + 1])
        for j in (0, n - 1):
            w, e = max(j - 1, 0), min(j + 1, n - 1)
            out[i, j] = f32(0.5) * a[i, j] + f32(0.125) * (a[up, j] + a[down, j] + a[i, w] + a[i, e])


def five_point(n):
    return into(run_five_point, (d.matrix(13, n),), np.empty((n, n), f32))


@fast
def run_three_by_three(a, out):
    n = len(a)
    for i in prange(n):
        u, o = max(i - 1, 0), min(i + 1, n - 1)
        for j in range(1, n - 1):
            corners = a[u, j - 1] + a[u, j + 1] + a[o, j - 1] + a[o, j + 1]
            out[i, j] = CORNER * corners + SIDE * (a[u, j] + a[i, j - 1] + a[i, j + 1] + a[o, j]) + MIDDLE * a[i, j]
        for j in (0, n - 1):
            w, e = max(j - 1, 0), min(j + 1, n - 1)
            corners = a[u, w] + a[u, e] + a[o, w] + a[o, e]
            out[i, j] = CORNER * corners + SIDE * (a[u, j] + a[i, w] + a[i, e] + a[o, j]) + MIDDLE * a[i, j]


def three_by_three(n):
    return into(run_three_by_three, (d.matrix(14, n),), np.empty((n, n), f32))


@fast
def run_rows(a, out):
    for i in prange(len(a)):
        s = f32(0)
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s


@fast
def run_columns(a, partial, out):
    parts, n = len(partial), len(a)
    for t in prange(parts):
        partial[t] = 0
        for i in range(n * t // parts, n * (t + 1) // parts):
            for j in range(n):
                partial[t, j] += a[i, j]
    for j in range(n):
        out[j] = partial[:, j].sum()


def reduced(n, axis):
    a, out = (d.matrix(16 - axis, n),), np.empty(n, f32)
    return into(run_rows, a, out) if axis == 1 else into(run_columns, a, out, memory=[parts(n)])


@fast
def run_transposed(a, out):
    n, b = len(a), 32
    for block in prange(n // b):
        for j in range(0, n, b):
            for i in range(block * b, block * b + b):
                for k in range(j, j + b):
                    out[i, k] = a[k, i]


def transposed(n):
    return into(run_transposed, (d.matrix(17, n),), np.empty((n, n), f32))


@fast
def run_inclusive(x, totals, out):
    parts, n = len(totals), len(x)
    for t in prange(parts):
        s = f32(0)
        for i in range(n * t // parts, n * (t + 1) // parts):
            s += x[i]
        totals[t] = s
    for t in prange(parts):
        s = totals[:t].sum()
        for i in range(n * t // parts, n * (t + 1) // parts):
            s += x[i]
            out[i] = s


def inclusive(n):
    return into(run_inclusive, (d.uniform(18, n, 0, 1),), np.empty(n, f32), memory=[parts()])


@fast
def run_segmented(x, starts, lengths, out):
    for k in prange(len(lengths)):
        s = f32(0)
        for i in range(starts[k], starts[k] + lengths[k]):
            s += x[i]
            out[i] = s


def segmented(n):
    x, (lengths, _), out = d.uniform(19, n, 0, 1), d.segments(20, n), np.empty(n, f32)
    # With the starts found anew each time, as a scan of the descriptor.
    def call():
        run_segmented(x, np.cumsum(lengths) - lengths, lengths, out)
        return out

    return call


@fast
def run_filtered(x, counts, out):
    parts, n = len(counts), len(x)
    for t in prange(parts):
        c = 0
        for i in range(n * t // parts, n * (t + 1) // parts):
            c += x[i] > 0
        counts[t] = c
    for t in prange(parts):
        k = counts[:t].sum()
        for i in range(n * t // parts, n * (t + 1) // parts):
            if x[i] > 0:
                out[k] = x[i]
                k += 1
    return counts.sum()


def filtered(n):
    x, counts, out = d.uniform(21, n), parts(dtype=np.int64), np.empty(n, f32)
    return lambda: out[: run_filtered(x, counts, out)]


@njit
def run_sort(x):
    return np.sort(x)


def radix_sort(n):
    x = d.keys(22, n, 1 << 32)
    return lambda: run_sort(x)


@fast
def run_histogram(x, partial, out):
    parts, n = len(partial), len(x)
    for t in prange(parts):
        partial[t] = 0
        for i in range(n * t // parts, n * (t + 1) // parts):
            partial[t, x[i]] += 1
    for b in prange(len(out)):
        out[b] = partial[:, b].sum()


def histogram(n, bins):
    memory = [parts(bins, dtype=np.uint32)]
    return into(run_histogram, (d.keys(23, n, bins),), np.empty(bins, np.uint32), memory=memory)


@fast
def run_kmeans(x, y, cx, cy, partial, mx, my):
    parts, n = len(partial), len(x)
    for t in prange(parts):
        partial[t] = 0
        for i in range(n * t // parts, n * (t + 1) // parts):
            best, least = 0, f32(3.4e38)
            for k in range(CENTRES):
                a, b = x[i] - cx[k], y[i] - cy[k]
                apart = a * a + b * b
                if apart < least:
                    best, least = k, apart
            partial[t, best, 0] += x[i]
            partial[t, best, 1] += y[i]
            partial[t, best, 2] += 1
    for k in range(CENTRES):
        count = partial[:, k, 2].sum()
        mx[k], my[k] = partial[:, k, 0].sum() / count, partial[:, k, 1].sum() / count


def kmeans(n):
    (x, y), (cx, cy) = d.points(n)
    means = [np.empty(CENTRES, f32) for _ in range(2)]
    return into(run_kmeans, (x, y, cx, cy), *means, memory=[parts(CENTRES, 3)])


@njit
def run_product(a, b):
    return a @ b


def product(n, dtype):
    a, b = d.matrix(28, n, -1, 1, dtype), d.matrix(29, n, -1, 1, dtype)
    return lambda: run_product(a, b)


@fast
def run_sparse(starts, lengths, columns, values, x, out):
    for i in prange(len(lengths)):
        s = f32(0)
        for k in range(starts[i], starts[i] + lengths[i]):
            s += values[k] * x[columns[k]]
        out[i] = s


def sparse(n):
    lengths, _, columns, values, x = d.sparse(n)
    out = np.empty(n, f32)

    def call():
        run_sparse(np.cumsum(lengths) - lengths, lengths, columns, values, x, out)
        return out

    return call


if __name__ == "__main__":
    serve(kernels(sys.modules[__name__]) | papers_in_numba.ids())

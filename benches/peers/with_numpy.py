"""The kernels in NumPy."""

import numpy as np

import data as d
from papers import papers
from serve import serve


def saxpy(n):
    x, y = d.uniform(1, n), d.uniform(2, n)
    return lambda: np.float32(2.5) * x + y


def polynomial(n):
    x = d.uniform(3, n)
    f = np.float32

    def run():
        t = x * f(1.3) - f(0.7)
        u = t * t
        v = u - x
        w = np.maximum(v * f(0.25) + t, f(-0.7))
        return np.minimum(w * u + x, f(1.3)) * v

    return run


def dot(n):
    x, y = d.uniform(4, n), d.uniform(5, n)
    return lambda: x @ y


def normal(x):
    k = 1 / (1 + np.float32(0.2316419) * np.abs(x))
    p = np.zeros_like(x)
    for c in d.TAIL:
        p = (p + np.float32(c)) * k
    tail = np.exp(np.float32(-0.5) * x * x) * np.float32(0.3989423) * p
    return np.where(x > 0, 1 - tail, tail)


def black_scholes(n):
    price, strike, years = d.options(n)

    def run():
        root = d.VOLATILITY * np.sqrt(years)
        d1 = (np.log(price / strike) + (d.RATE + np.float32(0.5) * d.VOLATILITY * d.VOLATILITY) * years) / root
        discounted = strike * np.exp(-d.RATE * years)
        call = price * normal(d1) - discounted * normal(d1 - root)
        return call, call + discounted - price

    return run


def mandelbrot():
    n = d.MANDELBROT
    step = np.float32(3.0 / n)

    def run():
        i = np.arange(n, dtype=np.float32) * step
        c = (i - np.float32(2.0))[None, :] + 1j * (i - np.float32(1.5))[:, None]
        c = c.astype(np.complex64)
        z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
        on = np.ones(c.shape, bool)
        for _ in range(d.STEPS):
            on &= z.real * z.real + z.imag * z.imag <= 4
            if not on.any():
                break
            count += on
            z[on] = z[on] * z[on] + c[on]
        return count

    return run


def bodies(n):
    x, y, z, m = d.bodies(n)

    def run():
        dx, dy, dz = x[None] - x[:, None], y[None] - y[:, None], z[None] - z[:, None]
        inverse = 1 / np.sqrt(dx * dx + dy * dy + dz * dz + d.SOFTENING)
        g = m[None] * inverse * inverse * inverse
        return (g * dx).sum(1), (g * dy).sum(1), (g * dz).sum(1)

    return run


def padded(a):
    return np.pad(a, 1, mode="edge")


def five_point(n):
    a = d.matrix(13, n)

    def run():
        p = padded(a)
        return np.float32(0.5) * a + np.float32(0.125) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])

    return run


def three_by_three(n):
    a = d.matrix(14, n)

    def run():
        p = padded(a)
        corners = p[:-2, :-2] + p[:-2, 2:] + p[2:, :-2] + p[2:, 2:]
        sides = p[:-2, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, 1:-1]
        return d.CORNER * corners + d.SIDE * sides + d.MIDDLE * a

    return run


def reduced(n, axis):
    a = d.matrix(16 - axis, n)
    return lambda: a.sum(axis)


def transposed(n):
    a = d.matrix(17, n)
    return lambda: np.ascontiguousarray(a.T)


def inclusive(n):
    x = d.uniform(18, n, 0, 1)
    return lambda: np.cumsum(x)


def segmented(n):
    x = d.uniform(19, n, 0, 1)
    lengths, _ = d.segments(20, n)

    def run():
        # In doubles, since what came before the segment is subtracted again.
        sums = np.cumsum(x, dtype=np.float64)
        ends = np.cumsum(lengths)
        before = np.concatenate([[0.0], sums])[ends - lengths]
        return (sums - np.repeat(before, lengths)).astype(np.float32)

    return run


def filtered(n):
    x = d.uniform(21, n)
    return lambda: x[x > 0]


def radix_sort(n):
    x = d.keys(22, n, 1 << 32)
    return lambda: np.sort(x)


def histogram(n, bins):
    x = d.keys(23, n, bins)
    return lambda: np.bincount(x, minlength=bins)


def kmeans(n):
    (x, y), (cx, cy) = d.points(n)

    def run():
        label = ((x[:, None] - cx) ** 2 + (y[:, None] - cy) ** 2).argmin(1)
        of = lambda w: np.bincount(label, w, minlength=d.CENTRES)
        count = of(None)
        return of(x) / count, of(y) / count

    return run


def product(n, dtype):
    a, b = d.matrix(28, n, -1, 1, dtype), d.matrix(29, n, -1, 1, dtype)
    return lambda: a @ b


def sparse(n):
    _, rows, columns, values, x = d.sparse(n)
    return lambda: np.bincount(rows, x[columns] * values, minlength=n)


def kernels(k):
    """The rows' ids; `k` has a function of each name above."""
    ids = {}
    for size, n in [("1e4", 10_000), ("1e6", 1_000_000), ("1.6e7", 16_000_000)]:
        ids[f"saxpy {size}"] = lambda n=n: k.saxpy(n)
        ids[f"polynomial {size}"] = lambda n=n: k.polynomial(n)
        if n > 10_000:
            ids[f"dot product {size}"] = lambda n=n: k.dot(n)
    ids["Black-Scholes 1e6"] = lambda: k.black_scholes(1_000_000)
    ids[f"Mandelbrot {d.MANDELBROT}², {d.STEPS} steps"] = lambda: k.mandelbrot()
    ids["n-body 2048"] = lambda: k.bodies(2048)
    ids["stencil, 5 points 2048²"] = lambda: k.five_point(2048)
    ids["stencil, 3x3 2048²"] = lambda: k.three_by_three(2048)
    ids["sum of each row 4096²"] = lambda: k.reduced(4096, 1)
    ids["sum of each column 4096²"] = lambda: k.reduced(4096, 0)
    ids["transposition 4096²"] = lambda: k.transposed(4096)
    ids["inclusive scan 1.6e7"] = lambda: k.inclusive(16_000_000)
    ids["segmented scan 1.6e7"] = lambda: k.segmented(16_000_000)
    ids["filter, half kept 1.6e7"] = lambda: k.filtered(16_000_000)
    ids["radix sort 1e7"] = lambda: k.radix_sort(10_000_000)
    ids["histogram 1.6e7, 2.56e2 bins"] = lambda: k.histogram(16_000_000, 256)
    ids["histogram 1.6e7, 1e6 bins"] = lambda: k.histogram(16_000_000, 1_000_000)
    ids["k-means step 1e6, 16 centres"] = lambda: k.kmeans(1_000_000)
    for n in (512, 1024):
        ids[f"matrix product, f32 {n}²"] = lambda n=n: k.product(n, np.float32)
        ids[f"matrix product, f64 {n}²"] = lambda n=n: k.product(n, np.float64)
    ids["sparse matrix times vector 1e6 rows"] = lambda: k.sparse(1_000_000)
    if hasattr(k, "problem"):
        for ending, with_gradient in [("loss", False), ("with gradient", True)]:
            for problem, (loss, by, arrays) in problems().items():
                name, size = problem
                make = lambda loss=loss, by=by, arrays=arrays, g=with_gradient: k.problem(loss, by, arrays(), g)
                ids[f"gradient: {name} ({ending}) {size}"] = make
    return ids


def problems():
    """Of each loss its function's name, which arguments the gradient is by, and how its inputs are made."""
    problems = {}
    for m in [(10, 25, 1000), (32, 25, 10_000), (64, 50, 10_000)]:
        size = "{} dimensions, {} centres, {} points".format(*m)
        problems["mixture", size] = ("mixture", (1, 2, 3), lambda m=m: d.mixture(*m))
    for c in [(35, 5, 494_019), (256, 1024, 10_000)]:
        size = "{} dimensions, {} centres, {} points".format(*c)
        problems["k-means", size] = ("clusters", (1,), lambda c=c: d.clusters(*c))
    problems["histogram", f"4e6, {d.BINS} bins"] = ("interpolated", (0, 1), lambda: d.interpolated(4_000_000))
    problems["log-sum-exp scan", "4e6"] = ("log_sum_exp_scan", (0,), lambda: (d.uniform(54, 4_000_000),))
    positions = lambda: [d.uniform(s, 2048) for s in (49, 50, 51)] + [d.uniform(52, 2048, 0.1, 1.0)]
    problems["n-body", "2048"] = ("accelerations", (0, 1, 2), positions)
    problems["heat", f"1e5, {d.HEAT_STEPS} steps"] = ("heat", (0,), lambda: (d.uniform(53, 100_000, 0, 1),))
    return problems


if __name__ == "__main__":
    import sys

    serve(kernels(sys.modules[__name__]) | papers(np, lambda f, *arrays: lambda: f(*arrays)))

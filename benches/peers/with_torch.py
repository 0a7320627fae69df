"""The kernels in PyTorch: its own operations where there is one, else compiled by `torch.compile`, which needs a C++
compiler; where there is none, operation by operation."""

import os
import shutil
import sys

import numpy as np
import torch
import torch.nn.functional as F

import data as d
from papers import papers
from serve import serve
from with_numpy import kernels

torch.set_grad_enabled(False)
COMPILER = any(shutil.which(c) for c in (os.environ.get("CXX", "c++"), "g++", "clang++"))


def ready(f, *arrays, compiled=True):
    f = torch.compile(f) if compiled and COMPILER else f
    tensors = [torch.from_numpy(a) for a in arrays]
    return lambda: f(*tensors)


def saxpy(n):
    return ready(lambda x, y: torch.add(y, x, alpha=2.5), d.uniform(1, n), d.uniform(2, n), compiled=False)


def polynomial(n):
    def f(x):
        t = x * 1.3 - 0.7
        u = t * t
        v = u - x
        w = torch.clamp(v * 0.25 + t, min=-0.7)
        return torch.clamp(w * u + x, max=1.3) * v

    return ready(f, d.uniform(3, n))


def dot(n):
    return ready(torch.dot, d.uniform(4, n), d.uniform(5, n), compiled=False)


def normal(x):
    k = 1 / (1 + 0.2316419 * torch.abs(x))
    p = torch.zeros_like(x)
    for c in d.TAIL:
        p = (p + c) * k
    tail = torch.exp(-0.5 * x * x) * 0.3989423 * p
    return torch.where(x > 0, 1 - tail, tail)


def black_scholes(n):
    rate, volatility = float(d.RATE), float(d.VOLATILITY)

    def f(price, strike, years):
        root = volatility * torch.sqrt(years)
        d1 = (torch.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / root
        discounted = strike * torch.exp(-rate * years)
        call = price * normal(d1) - discounted * normal(d1 - root)
        return call, call + discounted - price

    return ready(f, *d.options(n))


def mandelbrot():
    n = d.MANDELBROT
    i = torch.arange(n, dtype=torch.float32) * (3.0 / n)
    cx, cy = (i - 2.0).expand(n, n).contiguous(), (i - 1.5)[:, None].expand(n, n).contiguous()

    def step(x, y, count):
        xx, yy = x * x, y * y
        on = xx + yy <= 4
        return torch.where(on, xx - yy + cx, x), torch.where(on, 2 * x * y + cy, y), count + on

    step = torch.compile(step) if COMPILER else step

    def run():
        x, y = torch.zeros(n, n), torch.zeros(n, n)
        count = torch.zeros(n, n, dtype=torch.int32)
        for _ in range(d.STEPS):
            x, y, count = step(x, y, count)
        return count

    return run


def bodies(n):
    def f(x, y, z, m):
        dx, dy, dz = x[None] - x[:, None], y[None] - y[:, None], z[None] - z[:, None]
        g = m[None] * torch.rsqrt(dx * dx + dy * dy + dz * dz + float(d.SOFTENING)) ** 3
        return (g * dx).sum(1), (g * dy).sum(1), (g * dz).sum(1)

    return ready(f, *d.bodies(n))


def padded(a):
    return torch.nn.functional.pad(a[None, None], (1, 1, 1, 1), mode="replicate")[0, 0]


def five_point(n):
    def f(a):
        p = padded(a)
        return 0.5 * a + 0.125 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])

    return ready(f, d.matrix(13, n))


def three_by_three(n):
    corner, side, middle = float(d.CORNER), float(d.SIDE), float(d.MIDDLE)

    def f(a):
        p = padded(a)
        corners = p[:-2, :-2] + p[:-2, 2:] + p[2:, :-2] + p[2:, 2:]
        sides = p[:-2, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, 1:-1]
        return corner * corners + side * sides + middle * a

    return ready(f, d.matrix(14, n))


def reduced(n, axis):
    return ready(lambda a: a.sum(axis), d.matrix(16 - axis, n), compiled=False)


def transposed(n):
    return ready(lambda a: a.T.contiguous(), d.matrix(17, n), compiled=False)


def inclusive(n):
    return ready(lambda x: torch.cumsum(x, 0), d.uniform(18, n, 0, 1), compiled=False)


def segmented(n):
    x, (lengths, _) = d.uniform(19, n, 0, 1), d.segments(20, n)

    def f(x, lengths):
        # In doubles, since what came before the segment is subtracted again.
        sums = torch.cumsum(x, 0, dtype=torch.float64)
        before = torch.cat([sums.new_zeros(1), sums])[torch.cumsum(lengths, 0) - lengths]
        return (sums - torch.repeat_interleave(before, lengths)).float()

    return ready(f, x, lengths.astype(np.int64), compiled=False)


def filtered(n):
    return ready(lambda x: x[x > 0], d.uniform(21, n), compiled=False)


def radix_sort(n):
    # There is no sort of unsigned 32-bit numbers; of the signed ones, in the same order, there is.
    keys = (d.keys(22, n, 1 << 32) ^ np.uint32(1 << 31)).view(np.int32)
    call = ready(lambda x: torch.sort(x).values, keys, compiled=False)
    call.shown = lambda keys: keys.numpy().view(np.uint32) ^ np.uint32(1 << 31)
    return call


def histogram(n, bins):
    return ready(lambda x: torch.bincount(x, minlength=bins), d.keys(23, n, bins).astype(np.int32), compiled=False)


def kmeans(n):
    (x, y), (cx, cy) = d.points(n)

    def f(x, y, cx, cy):
        label = ((x[:, None] - cx) ** 2 + (y[:, None] - cy) ** 2).argmin(1)
        sums = torch.zeros(3, d.CENTRES).index_add_(1, label, torch.stack([x, y, torch.ones_like(x)]))
        return sums[0] / sums[2], sums[1] / sums[2]

    return ready(f, x, y, cx, cy)


def product(n, dtype):
    return ready(torch.matmul, d.matrix(28, n, -1, 1, dtype), d.matrix(29, n, -1, 1, dtype), compiled=False)


def sparse(n):
    lengths, _, columns, values, x = d.sparse(n)
    starts = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    a = torch.sparse_csr_tensor(starts, torch.from_numpy(columns), torch.from_numpy(values), (n, n))
    return ready(lambda x: a @ x, x, compiled=False)


def mixture(x, weights, means, scales):
    inverse = torch.exp(scales)
    squares = (((x[:, None] - means) * inverse) ** 2).sum(-1)
    terms = weights + scales.sum(1) - 0.5 * squares
    points = torch.logsumexp(terms, 1).sum()
    return points - len(x) * torch.logsumexp(weights, 0) + 0.5 * (inverse * inverse).sum()


def clusters(points, centres):
    # All differences at once would take gigabytes.
    squares = (points * points).sum(1)[:, None] - 2 * points @ centres.T + (centres * centres).sum(1)
    return squares.min(1).values.sum()


def interpolated(position, weight, by):
    low = torch.floor(position)
    upper = weight * (position - low)
    bins = low.long()
    histogram = torch.zeros(d.BINS).index_add(0, bins, weight - upper).index_add(0, bins + 1, upper)
    return histogram @ by


def log_sum_exp_scan(x):
    return torch.logcumsumexp(x, 0).sum()


def accelerations(x, y, z, m):
    dx, dy, dz = x[None] - x[:, None], y[None] - y[:, None], z[None] - z[:, None]
    g = m[None] * torch.rsqrt(dx * dx + dy * dy + dz * dz + float(d.SOFTENING)) ** 3
    return sum(((g * c).sum(1) ** 2).sum() for c in (dx, dy, dz))


def heat(x):
    for _ in range(d.HEAT_STEPS):
        p = torch.cat([x[:1], x, x[-1:]])
        x = x + float(d.RATE_OF_HEAT) * (p[:-2] - 2 * x + p[2:])
    return (x * x).sum()


def problem(name, by, arrays, with_gradient):
    loss = globals()[name]
    # A hundred steps in a row take the compiler minutes.
    compiled = name != "heat"
    if not with_gradient:
        return ready(loss, *arrays, compiled=compiled)

    def both(*arrays):
        with torch.enable_grad():
            gradient, value = torch.func.grad_and_value(loss, by)(*arrays)
        return value, *gradient

    return ready(both, *arrays, compiled=compiled)


def outputs(net, images):
    k1, b1, k2, b2, w, b = net
    layer = lambda x, filters, biases: F.avg_pool2d(torch.sigmoid(F.conv2d(x, filters, biases)), 2)
    second = layer(layer(images[:, None], k1, b1), k2, b2)
    return torch.sigmoid(second.flatten(1) @ w.T + b)


def training(*arrays):
    def loss(net, images, labels):
        return 0.5 * ((outputs(net, images) - F.one_hot(labels, 10)) ** 2).sum()

    def steps(*arrays):
        *net, images, labels = arrays
        sum_of_losses = torch.zeros(())
        for x, t in zip(images.split(d.BATCH), labels.split(d.BATCH)):
            with torch.enable_grad():
                gradient, value = torch.func.grad_and_value(loss)(tuple(net), x, t)
            net = [p - float(d.LEARNING_RATE) * g for p, g in zip(net, gradient)]
            sum_of_losses = sum_of_losses + value
        return sum_of_losses, *net

    return ready(steps, *arrays)


def test(*arrays):
    def confusion(*arrays):
        *net, images, labels = arrays
        places = labels * 10 + outputs(net, images).argmax(1)
        return torch.bincount(places, minlength=100)

    return ready(confusion, *arrays)


if __name__ == "__main__":
    # Hundreds of steps in a row take the compiler minutes.
    rows = kernels(sys.modules[__name__]) | papers(torch, lambda f, *arrays: ready(f, *arrays, compiled=False))
    serve(rows | d.networks(training, test))

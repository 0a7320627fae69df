"""The kernels in JAX, compiled by `jit`."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import data as d
from papers import papers
from serve import serve
from with_numpy import kernels

jax.config.update("jax_enable_x64", True)
f32 = np.float32


def ready(f, *arrays):
    """A call of the compiled function that waits for its result."""
    compiled, arrays = jax.jit(f), [jnp.asarray(a) for a in arrays]
    return lambda: jax.block_until_ready(compiled(*arrays))


def saxpy(n):
    return ready(lambda x, y: f32(2.5) * x + y, d.uniform(1, n), d.uniform(2, n))


def polynomial(n):
    def f(x):
        t = x * f32(1.3) - f32(0.7)
        u = t * t
        v = u - x
        w = jnp.maximum(v * f32(0.25) + t, f32(-0.7))
        return jnp.minimum(w * u + x, f32(1.3)) * v

    return ready(f, d.uniform(3, n))


def dot(n):
    return ready(jnp.dot, d.uniform(4, n), d.uniform(5, n))


def normal(x):
    k = 1 / (1 + f32(0.2316419) * jnp.abs(x))
    p = jnp.zeros_like(x)
    for c in d.TAIL:
        p = (p + f32(c)) * k
    tail = jnp.exp(f32(-0.5) * x * x) * f32(0.3989423) * p
    return jnp.where(x > 0, 1 - tail, tail)


def black_scholes(n):
    def f(price, strike, years):
        root = d.VOLATILITY * jnp.sqrt(years)
        d1 = (jnp.log(price / strike) + (d.RATE + f32(0.5) * d.VOLATILITY * d.VOLATILITY) * years) / root
        discounted = strike * jnp.exp(-d.RATE * years)
        call = price * normal(d1) - discounted * normal(d1 - root)
        return call, call + discounted - price

    return ready(f, *d.options(n))


def mandelbrot():
    n = d.MANDELBROT

    def f():
        step = f32(3.0 / n)
        cx = jnp.broadcast_to(jnp.arange(n, dtype=f32) * step - f32(2.0), (n, n))
        cy = jnp.broadcast_to((jnp.arange(n, dtype=f32) * step - f32(1.5))[:, None], (n, n))
        inside = lambda x, y: x * x + y * y <= 4

        def body(s):
            x, y, count, k = s
            on = inside(x, y)
            xx = x * x - y * y + cx
            yy = 2 * x * y + cy
            return jnp.where(on, xx, x), jnp.where(on, yy, y), count + on, k + 1

        more = lambda s: (s[3] < d.STEPS) & jnp.any(inside(s[0], s[1]))
        zero = jnp.zeros((n, n), f32)
        return lax.while_loop(more, body, (zero, zero, jnp.zeros((n, n), np.int32), 0))[2]

    return ready(f)


def bodies(n):
    def f(x, y, z, m):
        dx, dy, dz = x[None] - x[:, None], y[None] - y[:, None], z[None] - z[:, None]
        g = m[None] * lax.rsqrt(dx * dx + dy * dy + dz * dz + d.SOFTENING) ** 3
        return (g * dx).sum(1), (g * dy).sum(1), (g * dz).sum(1)

    return ready(f, *d.bodies(n))


def five_point(n):
    def f(a):
        p = jnp.pad(a, 1, mode="edge")
        return f32(0.5) * a + f32(0.125) * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])

    return ready(f, d.matrix(13, n))


def three_by_three(n):
    def f(a):
        p = jnp.pad(a, 1, mode="edge")
        corners = p[:-2, :-2] + p[:-2, 2:] + p[2:, :-2] + p[2:, 2:]
        sides = p[:-2, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[2:, 1:-1]
        return d.CORNER * corners + d.SIDE * sides + d.MIDDLE * a

    return ready(f, d.matrix(14, n))


def reduced(n, axis):
    return ready(lambda a: a.sum(axis), d.matrix(16 - axis, n))


def transposed(n):
    return ready(lambda a: a.T, d.matrix(17, n))


def inclusive(n):
    return ready(jnp.cumsum, d.uniform(18, n, 0, 1))


def segmented(n):
    _, of = d.segments(20, n)
    starts = np.diff(of, prepend=-1) != 0

    def f(x, start):
        join = lambda a, b: (a[0] | b[0], jnp.where(b[0], b[1], a[1] + b[1]))
        return lax.associative_scan(join, (start, x))[1]

    return ready(f, d.uniform(19, n, 0, 1), starts)


def filtered(n):
    x = jnp.asarray(d.uniform(21, n))
    # The result's extent depends on the data, so that this is not compiled as a whole.
    return lambda: jax.block_until_ready(x[x > 0])


def radix_sort(n):
    return ready(jnp.sort, d.keys(22, n, 1 << 32))


def histogram(n, bins):
    return ready(lambda x: jnp.zeros(bins, np.uint32).at[x].add(1), d.keys(23, n, bins))


def kmeans(n):
    (x, y), (cx, cy) = d.points(n)

    def f(x, y, cx, cy):
        label = ((x[:, None] - cx) ** 2 + (y[:, None] - cy) ** 2).argmin(1)
        of = lambda w: jax.ops.segment_sum(w, label, num_segments=d.CENTRES)
        count = of(jnp.ones_like(x))
        return of(x) / count, of(y) / count

    return ready(f, x, y, cx, cy)


def product(n, dtype):
    return ready(jnp.matmul, d.matrix(28, n, -1, 1, dtype), d.matrix(29, n, -1, 1, dtype))


def sparse(n):
    _, rows, columns, values, x = d.sparse(n)

    def f(rows, columns, values, x):
        return jax.ops.segment_sum(values * x[columns], rows, num_segments=n, indices_are_sorted=True)

    return ready(f, rows, columns, values, x)


def mixture(x, weights, means, scales):
    inverse = jnp.exp(scales)
    squares = (((x[:, None] - means) * inverse) ** 2).sum(-1)
    terms = weights + scales.sum(1) - f32(0.5) * squares
    points = jax.nn.logsumexp(terms, axis=1).sum()
    return points - f32(len(x)) * jax.nn.logsumexp(weights) + f32(0.5) * (inverse * inverse).sum()


def clusters(points, centres):
    # All differences at once would take gigabytes.
    squares = (points * points).sum(1)[:, None] - 2 * points @ centres.T + (centres * centres).sum(1)
    return squares.min(1).sum()


def interpolated(position, weight, by):
    low = jnp.floor(position)
    upper = weight * (position - low)
    bins = low.astype(np.int32)
    histogram = jnp.zeros(d.BINS, f32).at[bins].add(weight - upper).at[bins + 1].add(upper)
    return histogram @ by


def log_sum_exp_scan(x):
    return lax.associative_scan(jnp.logaddexp, x).sum()


def accelerations(x, y, z, m):
    dx, dy, dz = x[None] - x[:, None], y[None] - y[:, None], z[None] - z[:, None]
    g = m[None] * lax.rsqrt(dx * dx + dy * dy + dz * dz + d.SOFTENING) ** 3
    return sum(((g * c).sum(1) ** 2).sum() for c in (dx, dy, dz))


def heat(x):
    def step(_, x):
        p = jnp.pad(x, 1, mode="edge")
        return x + d.RATE_OF_HEAT * (p[:-2] - 2 * x + p[2:])

    return (lax.fori_loop(0, d.HEAT_STEPS, step, x) ** 2).sum()


def problem(name, by, arrays, with_gradient):
    loss = globals()[name]
    if not with_gradient:
        return ready(loss, *arrays)

    def both(*arrays):
        value, gradient = jax.value_and_grad(loss, by)(*arrays)
        return value, *gradient

    return ready(both, *arrays)


def layer(x, filters, biases):
    y = jax.nn.sigmoid(lax.conv(x, filters, (1, 1), "VALID") + biases[:, None, None])
    n, c, h, w = y.shape
    return y.reshape(n, c, h // 2, 2, w // 2, 2).mean((3, 5))


def outputs(net, images):
    k1, b1, k2, b2, w, b = net
    second = layer(layer(images[:, None], k1, b1), k2, b2)
    return jax.nn.sigmoid(second.reshape(len(images), -1) @ w.T + b)


def training(*arrays):
    def loss(net, images, labels):
        return f32(0.5) * ((outputs(net, images) - jax.nn.one_hot(labels, 10, dtype=f32)) ** 2).sum()

    def step(net, batch):
        value, gradient = jax.value_and_grad(loss)(net, *batch)
        return tuple(p - d.LEARNING_RATE * g for p, g in zip(net, gradient)), value

    def steps(*arrays):
        *net, images, labels = arrays
        batches = images.reshape(-1, d.BATCH, 28, 28), labels.reshape(-1, d.BATCH)
        net, losses = lax.scan(step, tuple(net), batches)
        return losses.sum(), *net

    return ready(steps, *arrays)


def test(*arrays):
    def confusion(*arrays):
        *net, images, labels = arrays
        return jnp.zeros((10, 10), np.int64).at[labels, outputs(net, images).argmax(1)].add(1)

    return ready(confusion, *arrays)


if __name__ == "__main__":
    loop = lambda n, step, x: lax.fori_loop(0, n, step, x)
    serve(kernels(sys.modules[__name__]) | papers(jnp, ready, loop) | d.networks(training, test))

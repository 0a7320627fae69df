"""The kernels of `benches/kernels/families/papers` in Numba: loops, compiled for all cores."""

import math

import numpy as np
from numba import njit, prange

import papers

f32 = np.float32
fast = njit(parallel=True, fastmath=True)
TAU = f32(math.tau)


@fast
def mttkrp(b, tall, c, out):
    for i in prange(len(b)):
        out[i] = (b[i] @ tall * c).sum(0)


@fast
def bmm(a, b, out):
    for t in prange(len(a)):
        out[t] = a[t] @ b[t]


@fast
def gconv(x, w, out):
    images, groups, filters, side, _ = out.shape
    for t in prange(images * groups):
        n, g = t // groups, t % groups
        for f in range(filters):
            for y in range(side):
                for z in range(side):
                    s = 0.0
                    for c in range(x.shape[2]):
                        for p in range(w.shape[3]):
                            for q in range(w.shape[4]):
                                s += x[n, g, c, y + p, z + q] * w[g, f, c, p, q]
                    out[n, g, f, y, z] = s


@njit(fastmath=True)
def along_all(m, u, t, out):
    """A matrix along each axis of an element."""
    n = len(m)
    t[:], out[:] = 0, 0
    for x in range(n):
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    t[x, j, k] += m[x, i] * u[i, j, k]
    for x in range(n):
        for y in range(n):
            for j in range(n):
                for k in range(n):
                    out[x, y, k] += m[y, j] * t[x, j, k]
    for x in range(n):
        for y in range(n):
            for z in range(n):
                s = 0.0
                for k in range(n):
                    s += m[z, k] * out[x, y, k]
                t[x, y, z] = s
    out[:] = t


@fast
def interp(u, a, out):
    for e in prange(len(u)):
        along_all(a, u[e], np.empty(u.shape[1:]), out[e])


@fast
def helm(u, s, w, out):
    n = len(w)
    transposed = np.ascontiguousarray(s.T)
    for e in prange(len(u)):
        t, inside = np.empty((n, n, n)), np.empty((n, n, n))
        along_all(transposed, u[e], t, inside)
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    inside[i, j, k] /= 1 + w[i] * w[j] * w[k]
        along_all(s, inside, t, out[e])


@fast
def blur(x, out):
    for i in prange(len(out)):
        for j in range(out.shape[1]):
            s = 0.0
            for p in range(3):
                s += x[i + p, j] + x[i + p, j + 1] + x[i + p, j + 2]
            out[i, j] = s / 9


@fast
def coars(x, y, z, out):
    for i in prange(len(x)):
        for j in range(x.shape[1]):
            trace = x[i, j] + y[i, j]
            out[i, j] = x[i, j] * y[i, j] - z[i, j] * z[i, j] - 0.04 * trace * trace


@fast
def hotspot_step(x, power, out):
    n = len(x)
    for i in prange(n):
        u, o = max(i - 1, 0), min(i + 1, n - 1)
        for j in range(n):
            w, e, c = max(j - 1, 0), min(j + 1, n - 1), x[i, j]
            flow = f32(0.3) * (x[u, j] + x[o, j] - f32(2) * c) + f32(0.2) * (x[i, w] + x[i, e] - f32(2) * c)
            out[i, j] = c + f32(0.5) * (flow + f32(0.01) * (f32(80) - c) + power[i, j])


@fast
def stencil_step(x, out):
    n, m, p = x.shape
    for i in prange(n):
        for j in range(m):
            if i in (0, n - 1) or j in (0, m - 1):
                out[i, j] = x[i, j]
                continue
            for k in range(1, p - 1):
                around = x[i - 1, j, k] + x[i + 1, j, k] + x[i, j - 1, k] + x[i, j + 1, k] + x[i, j, k - 1] + x[i, j, k + 1]
                out[i, j, k] = f32(0.125) * around + f32(0.25) * x[i, j, k]
            out[i, j, 0], out[i, j, p - 1] = x[i, j, 0], x[i, j, p - 1]


@njit
def hotspot(start, power, a, b):
    a[:] = start
    for _ in range(papers.STEPS):
        hotspot_step(a, power, b)
        a, b = b, a
    return a


@njit
def stencil(start, steps, a, b):
    a[:] = start
    for _ in range(steps):
        stencil_step(a, b)
        a, b = b, a
    return a


@fast
def pathfinder_step(least, costs, out):
    last = len(least) - 1
    for j in prange(len(least)):
        out[j] = min(min(least[max(j - 1, 0)], least[j]), least[min(j + 1, last)]) + costs[j]


@njit
def pathfinder(costs, a, b):
    a[:] = costs[0]
    for k in range(1, len(costs)):
        pathfinder_step(a, costs[k], b)
        a, b = b, a
    return a


@fast
def mri(x, y, z, kx, ky, kz, magnitude, real, imaginary):
    for v in prange(len(x)):
        r = i = f32(0)
        for s in range(len(kx)):
            angle = TAU * (kx[s] * x[v] + ky[s] * y[v] + kz[s] * z[v])
            r += magnitude[s] * math.cos(angle)
            i += magnitude[s] * math.sin(angle)
        real[v], imaginary[v] = r, i


def into(f, shape, dtype=np.float64):
    """Of inputs a call that writes a result made before, whose shape is of the inputs'."""

    def ready(*inputs):
        out = np.empty(shape(*inputs), dtype)

        def call():
            f(*inputs, out)
            return out

        return call

    return ready


def between(f, *more):
    """Of inputs a call with two states as large as the first one or its rows."""

    def ready(start, *inputs):
        state = start if f is not pathfinder else start[0]
        states = [np.empty_like(state) for _ in range(2)]
        return lambda: f(start, *(more or inputs), *states)

    return ready


def mri_ready(x, *inputs):
    out = [np.empty(len(x), f32) for _ in range(2)]

    def call():
        mri(x, *inputs, *out)
        return out

    return call


CALLS = {
    "mttkrp": into(mttkrp, lambda b, tall, c: c.shape),
    "bmm": into(bmm, lambda a, b: (len(a), a.shape[1], b.shape[2])),
    "gconv": into(gconv, lambda x, w: (*x.shape[:2], w.shape[1], 7, 7)),
    "interp": into(interp, lambda u, a: u.shape),
    "helm": into(helm, lambda u, s, w: u.shape),
    "blur": into(blur, lambda x: (len(x) - 2, x.shape[1] - 2)),
    "coars": into(coars, lambda x, y, z: x.shape),
    "hotspot": between(hotspot),
    "pathfinder": between(pathfinder),
    "stencil 128x128x32,": between(stencil, 100),
    "stencil 512x512x64,": between(stencil, 20),
    "MRI-Q": mri_ready,
}


def ids():
    """The rows' ids that have a kernel here."""
    kernels = papers.papers(np, lambda _, *inputs: inputs)
    of = lambda name: [call for start, call in CALLS.items() if name.split(": ")[1].startswith(start)]
    return {name: lambda call=of(name)[0], inputs=inputs: call(*inputs()) for name, inputs in kernels.items() if of(name)}

"""The kernels of `benches/kernels/families/papers`, in what NumPy, JAX and PyTorch have in common."""

import math

import numpy as np

import data as d


def doubles(seed, *extents, low=-1.0, high=1.0):
    return d.uniform(seed, math.prod(extents), low, high, np.float64).reshape(extents)


def floats(seed, *extents, low=0.0, high=1.0):
    return d.uniform(seed, math.prod(extents), low, high).reshape(extents)


def beside(xp, x, axis):
    """Each element's neighbours along an axis, whose first and last are their own."""
    part = lambda start, stop: x[(slice(None),) * axis + (slice(start, stop),)]
    return xp.concatenate([part(0, 1), part(0, -1)], axis), xp.concatenate([part(1, None), part(-1, None)], axis)


def along_all(xp, m, u):
    """A matrix along each axis of all elements."""
    for equation in ("xi,eijk->exjk", "yj,exjk->exyk", "zk,exyk->exyz"):
        u = xp.einsum(equation, m, u)
    return u


def grouped(xp, x, w):
    side = x.shape[-1] - w.shape[-1] + 1
    terms = [(p, q) for p in range(w.shape[-2]) for q in range(w.shape[-1])]
    window = lambda p, q: x[..., p : p + side, q : q + side]
    return sum(xp.einsum("ngcyz,gfc->ngfyz", window(p, q), w[..., p, q]) for p, q in terms)


def helmholtz(xp, u, s, w):
    inside = along_all(xp, s.T, u)
    return along_all(xp, s, inside / (1 + w[:, None, None] * w[:, None] * w))


def blur(xp, x):
    wide = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3
    return (wide[:-2] + wide[1:-1] + wide[2:]) / 3


def mttkrp(xp, b, tall, c):
    return xp.einsum("ikj,kj->ij", xp.einsum("ikl,lj->ikj", b, tall), c)


def square():
    return doubles(60, 1024, 1024), doubles(61, 1024, 1024)


def planes():
    return [doubles(seed, 4096, 4096) for seed in (78, 79, 80)]


def tensors(xp):
    """Of each kernel its function and its inputs."""
    return {
        "mm 1024²": (lambda a, b: a @ b, square),
        "tmm 1024²": (lambda a, b: a.T @ b, square),
        "bmm 8192 of 72x26 by 26x72": (lambda a, b: a @ b, lambda: (doubles(62, 8192, 72, 26), doubles(63, 8192, 26, 72))),
        "mttkrp 250³": (
            lambda b, tall, c: mttkrp(xp, b, tall, c),
            lambda: (doubles(64, 250, 250, 250), doubles(65, 250, 250), doubles(66, 250, 250)),
        ),
        "sddmm 4096², 256 inner": (
            lambda s, b, c: s * (b @ c),
            lambda: (doubles(67, 4096, 4096), doubles(68, 4096, 256), doubles(69, 256, 4096)),
        ),
        "gconv 32x32x32x32x7²": (
            lambda x, w: grouped(xp, x, w),
            lambda: (doubles(70, 32, 32, 32, 9, 9), doubles(71, 32, 32, 32, 3, 3)),
        ),
        "interp 50000 of 7³": (lambda u, a: along_all(xp, a, u), lambda: (doubles(72, 50_000, 7, 7, 7), doubles(73, 7, 7))),
        "helm 5000 of 13³": (
            lambda u, s, w: helmholtz(xp, u, s, w),
            lambda: (doubles(74, 5000, 13, 13, 13), doubles(75, 13, 13), doubles(76, 13, low=1.0, high=2.0)),
        ),
        "blur 4096²": (lambda x: blur(xp, x), lambda: (doubles(77, 4096, 4096, low=0.0),)),
        "coars 4096²": (lambda x, y, z: x * y - z * z - 0.04 * (x + y) * (x + y), planes),
    }


STEPS = 360


def hotspot(xp, loop, start, power):
    def step(x):
        (n, s), (w, e) = beside(xp, x, 0), beside(xp, x, 1)
        flow = 0.3 * (n + s - 2 * x) + 0.2 * (w + e - 2 * x) + 0.01 * (80 - x)
        return x + 0.5 * flow + 0.5 * power

    return loop(STEPS, lambda _, x: step(x), start)


def stencil(xp, loop, steps, start, interior):
    def step(x):
        around = sum(one + other for one, other in (beside(xp, x, axis) for axis in range(3)))
        return xp.where(interior, 0.125 * around + 0.25 * x, x)

    return loop(steps, lambda _, x: step(x), start)


def block(extents):
    interior = np.zeros(extents, bool)
    interior[1:-1, 1:-1, 1:-1] = True
    return floats(92, *extents), interior


def pathfinder(xp, loop, costs):
    def row(k, least):
        left, right = beside(xp, least, 0)
        return xp.minimum(xp.minimum(left, least), right) + costs[k + 1]

    return loop(len(costs) - 1, row, costs[0])


def mri(xp, x, y, z, kx, ky, kz, magnitude):
    angle = math.tau * (kx * x[:, None] + ky * y[:, None] + kz * z[:, None])
    return (magnitude * xp.cos(angle)).sum(1), (magnitude * xp.sin(angle)).sum(1)


def scans(side, samples):
    voxels = [floats(seed, side**3, low=-0.5, high=0.5) for seed in (94, 95, 96)]
    return *voxels, *[floats(seed, samples, low=-8.0, high=8.0) for seed in (97, 98, 99)], floats(100, samples)


def simulations(xp, loop):
    """The same of what takes steps; `loop` is `lax.fori_loop` from 0 on, or one like it."""
    kernels = {}
    for n in (64, 512, 1024):
        inputs = lambda n=n: (floats(90, n, n, low=320.0, high=330.0), floats(91, n, n, high=5.0))
        kernels[f"hotspot {n}², {STEPS} steps"] = (lambda start, power: hotspot(xp, loop, start, power), inputs)
    costs = lambda: (d.keys(93, 10_000_000, 10).astype(np.int32).reshape(100, -1),)
    kernels["pathfinder 100x100000"] = (lambda costs: pathfinder(xp, loop, costs), costs)
    # All angles of the large one at once would take gigabytes.
    kernels["MRI-Q 32³, 3072 samples"] = (lambda *inputs: mri(xp, *inputs), lambda: scans(32, 3072))
    for extents, steps in (((128, 128, 32), 100), ((512, 512, 64), 20)):
        name = "stencil {}x{}x{}, {} steps".format(*extents, steps)
        f = lambda start, interior, steps=steps: stencil(xp, loop, steps, start, interior)
        kernels[name] = (f, lambda extents=extents: block(extents))
    return kernels


def steps(n, step, x):
    """The loop of libraries that have none."""
    for k in range(n):
        x = step(k, x)
    return x


def papers(xp, ready, loop=steps):
    """The rows' ids; `ready` makes a call of a function and its inputs."""
    ids = {f"tensor: {name}": kernel for name, kernel in tensors(xp).items()}
    ids |= {f"dex: {name}": kernel for name, kernel in simulations(xp, loop).items()}
    return {name: lambda f=f, inputs=inputs: ready(f, *inputs()) for name, (f, inputs) in ids.items()}

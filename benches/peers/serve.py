"""A worker: prepares a kernel and times it when told to, by lines of JSON."""

import json
import sys
import time

import numpy as np

# A measurement shorter than this repeats what it measures, as ours do.
LEAST_SECONDS = 5e-3


# Of each column of the results, so many elements are compared.
SAMPLES = 1000


def timed(call, times):
    """Seconds of a call, after one that brings back what others took of the cache."""
    call()
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def samples(call):
    """The length and some elements of each column of the results."""
    # Some libraries lack a type, and compute with another one that a call's `shown` translates.
    results = getattr(call, "shown", lambda r: r)(call())
    results = results if isinstance(results, (tuple, list)) else (results,)
    columns = [np.asarray(r, np.float64).reshape(-1) for r in results]
    return [[len(c), *c[np.arange(min(SAMPLES, len(c))) * len(c) // min(SAMPLES, len(c))].tolist()] for c in columns]


def serve(kernels):
    """Answers {"prepare": ID} with {"ready": bool, "samples": ..}, {"time": null} with {"seconds": s}, until the input ends.

    `kernels` maps a row's id to a function without arguments that makes the inputs and returns what is timed.
    """
    call, times = None, 1
    print(json.dumps({"kernels": list(kernels)}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "prepare" in order:
            call = None
            answer = {"ready": False}
            make = kernels.get(order["prepare"])
            if make is not None:
                try:
                    call = make()
                    # The first calls compile.
                    answer = {"ready": True, "samples": samples(call)}
                    call()
                    times = max(1, min(10_000, int(LEAST_SECONDS / max(timed(call, 1), 1e-9)) + 1))
                except Exception as e:  # A library that lacks an operation is left out of the row, and said so.
                    answer = {"ready": False, "why": f"{type(e).__name__}: {e}"}
            print(json.dumps(answer), flush=True)
        else:
            print(json.dumps({"seconds": timed(call, times)}), flush=True)

"""A worker: prepares a kernel and times it when told to, by lines of JSON."""

import json
import sys
import time

# A measurement shorter than this repeats what it measures, as ours do.
LEAST_SECONDS = 1e-3


def timed(call, times):
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def serve(kernels):
    """Answers {"prepare": ID} with {"ready": bool}, {"time": null} with {"seconds": s}, until the input ends.

    `kernels` maps a row's id to a function without arguments that makes the inputs and returns what is timed.
    """
    call, times = None, 1
    print(json.dumps({"kernels": list(kernels)}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "prepare" in order:
            call = None
            make = kernels.get(order["prepare"])
            if make is not None:
                try:
                    call = make()
                    # The first calls compile.
                    call(), call()
                    times = max(1, min(10_000, int(LEAST_SECONDS / max(timed(call, 1), 1e-9)) + 1))
                except Exception as e:  # A library that lacks an operation is left out of the row, and said so.
                    print(f"{order['prepare']}: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
                    call = None
            print(json.dumps({"ready": call is not None}), flush=True)
        else:
            print(json.dumps({"seconds": timed(call, times)}), flush=True)

#!/usr/bin/env python3
"""Runs the kernels of `benches/kernels` in NumPy, Numba, JAX and PyTorch, interleaved with ours.

    benches/peers/run.py [--rounds N] [--only TEXT] [--libraries numpy,numba,...]

Makes a virtual environment in target/peers, builds the benchmark, and times one row after the other: one worker process per
library, and one of ours, each asked for one measurement a round. A library whose results are not ours is not timed.
Records the medians (milliseconds) in target/peers/results.json, which the benchmark takes with --peers, and writes the
table of all rows on record into docs/BENCHMARKS.md: with --only, row after row may be brought up to date.
"""

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOLDER = ROOT / "target" / "peers"
PACKAGES = {
    "numpy": ["numpy"],
    "numba": ["numpy", "numba"],
    "jax": ["numpy", "jax"],
    "torch": ["numpy", "torch==2.11.0"],
}
OURS = "ours"


def environment(libraries):
    """The Python of a virtual environment with these libraries, made if it is missing."""
    python = FOLDER / "bin" / "python"
    if not python.exists():
        venv.create(FOLDER, with_pip=True)
    wanted = sorted({p for library in libraries for p in PACKAGES[library]})
    # So that rows brought up to date one by one do not ask pip each time.
    installed = FOLDER / "installed.json"
    if not installed.exists() or json.loads(installed.read_text()) != wanted:
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        installed.write_text(json.dumps(wanted))
    return python


# Seconds before each measurement, in which the threads of the process measured before stop spinning, so that they take
# no processor from this one.
PAUSE = 0.05


class Worker:
    def __init__(self, name, command):
        # Idle workers must not keep the cores busy, nor leave anything beside the sources.
        env = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", "JAX_PLATFORMS": "cpu", "PYTHONDONTWRITEBYTECODE": "1"}
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT)
        self.kernels = self.answer()["kernels"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} ended")
        return json.loads(line)

    def ask(self, order):
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def time(self):
        """Seconds that a call takes."""
        time.sleep(PAUSE)
        return self.ask({"time": None})["seconds"]


def ours():
    """The command that serves our kernels."""
    build = ["cargo", "bench", "--quiet", "--package", "acc-benches", "--bench", "kernels", "--no-run", "--message-format=json"]
    out = subprocess.run(build, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    built = [json.loads(line) for line in out.splitlines()]
    executables = [b["executable"] for b in built if b.get("executable") and b["target"]["name"] == "kernels"]
    return [executables[-1], "--serve"]


# How far an element may be from ours, relative to the largest of its column: libraries add in other orders. One in a
# hundred may be farther, where rounding decides, as at the edge of the Mandelbrot set.
TOLERANCE, STRAYS = 1e-2, 0.01


def differs(ours, theirs):
    """Why samples of results are not the same; None if they are."""
    if [c[0] for c in ours] != [c[0] for c in theirs]:
        return f"lengths {[c[0] for c in theirs]} where ours are {[c[0] for c in ours]}"
    for k, (a, b) in enumerate(zip(ours, theirs)):
        scale = max(map(abs, a[1:]), default=0.0)
        # Also what is not a number is far.
        far = [i for i, (x, y) in enumerate(zip(a[1:], b[1:])) if not abs(x - y) <= TOLERANCE * scale]
        if len(far) > STRAYS * (len(a) - 1):
            return f"column {k}: {len(far)} of {len(a) - 1} elements differ, such as {b[1 + far[0]]} for {a[1 + far[0]]}"
    return None


def measured(workers, row, rounds):
    """What is recorded of a row: median milliseconds of each worker, the noise, and why libraries are missing."""
    answers = {w: w.ask({"prepare": row}) for w in workers}
    record = {"milliseconds": {}, "missing": {}}
    ready = []
    for w, answer in answers.items():
        why = answer.get("why", "it has no such kernel")
        if answer["ready"]:
            why = differs(answers[workers[0]]["samples"], answer["samples"])
        if why is None:
            ready.append(w)
        else:
            record["missing"][w.name] = why
    seconds = {w.name: [] for w in ready}
    again = []
    for _ in range(rounds):
        for w in ready:
            seconds[w.name].append(w.time())
            if w.name == OURS:
                again.append(w.time() / seconds[OURS][-1])
    for w in ready:
        w.ask({"prepare": ""})
    record["milliseconds"] = {name: 1e3 * statistics.median(s) for name, s in seconds.items()}
    # Of ratios of the same round, since a slow moment meets all of a round.
    record["ratios"] = {
        name: statistics.median(t / o for t, o in zip(s, seconds[OURS])) for name, s in seconds.items() if name != OURS
    }
    # What two measurements of ours in one round differ by: the middle half of them stays within.
    quartiles = statistics.quantiles(again, n=4)
    record["noise"] = math.exp(max(abs(math.log(quartiles[0])), abs(math.log(quartiles[2])))) - 1
    return record


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else float("nan")


# Ours may be slower than the best library by this much, beyond the noise.
MARGIN = 0.10


def page(records, libraries, python, rounds):
    """The section of docs/BENCHMARKS.md, with every row on record."""
    code = "import importlib.metadata as m, sys; print(*[f'{p} {m.version(p)}' for p in sys.argv[1:]], sep=', ')"
    versions = subprocess.run([python, "-c", code, *libraries], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    lines = [
        f"{versions}, Python {platform.python_version()}, {os.cpu_count()} cores, {datetime.date.today()}. Medians of {rounds} rounds, in",
        "milliseconds; in brackets how many times ours that is, the median of the ratios of each round. The noise is what two",
        "measurements of ours in one round differ by (quartiles).",
        "",
        f"| kernel | ours | {' | '.join(libraries)} | best / ours | noise |",
        f"|---|--:|{'--:|' * len(libraries)}--:|--:|",
    ]
    bests, lost, missing = {}, [], []
    for row, record in records.items():
        ms, ratios = record["milliseconds"], {p: r for p, r in record["ratios"].items() if p in libraries}
        cells = [f"{ms[p]:.4g} ({ratios[p]:.2f})" if p in ratios else "" for p in libraries]
        best = min(ratios, key=ratios.get, default=None)
        if best is not None:
            bests[row] = ratios[best]
            if 1 / ratios[best] > (1 + MARGIN) * (1 + record["noise"]):
                lost.append(f"* {row}: {1 / ratios[best]:.2f} times {best}")
        shown = f"{bests[row]:.2f}" if row in bests else ""
        lines.append(f"| {row} | {ms[OURS]:.4g} | {' | '.join(cells)} | {shown} | {100 * record['noise']:.0f} % |")
        missing += [f"* {row}: not in {p}: {why}" for p, why in record["missing"].items()]
    if lost:
        lines += ["", f"Where ours takes more than {100 * MARGIN:.0f} % longer than the best library, beyond the noise:", "", *lost]
    if missing:
        lines += ["", "What was not timed, and why:", "", *missing]
    of = {p: mean([r["ratios"][p] for r in records.values() if p in r["ratios"]]) for p in libraries}
    worst = min(bests, key=bests.get, default=None)
    summary = [f"peers: {len(records)} kernels, geometric mean of theirs by ours: " + ", ".join(f"{p} {r:.2f}" for p, r in of.items())]
    summary += [f"the best of each row {mean(list(bests.values())):.2f}"]
    summary += [f"worst {worst} at {bests[worst]:.2f}"] if worst else []
    lines += ["", f"`{', '.join(summary)}`"]
    return "\n".join(lines)


def replace(path, name, text):
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = path.read_text().split(start)
    path.write_text(f"{before}{start}\n\n{text}\n\n{end}{rest.split(end)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--libraries", default=",".join(PACKAGES))
    options = parser.parse_args()
    libraries = options.libraries.split(",")
    python = environment(libraries)
    workers = [Worker(OURS, ours())] + [Worker(p, [python, HERE / f"with_{p}.py"]) for p in libraries]
    file = FOLDER / "results.json"
    old = json.loads(file.read_text()) if file.exists() else {}
    new = {}
    for row in workers[0].kernels:
        if options.only in row:
            new[row] = measured(workers, row, options.rounds)
            print(row, {name: round(ms, 4) for name, ms in new[row]["milliseconds"].items()}, new[row]["missing"], flush=True)
        elif row in old:
            new[row] = old[row]
    file.write_text(json.dumps(new, indent=1))
    text = page(new, libraries, python, options.rounds)
    print(text)
    replace(ROOT / "docs" / "BENCHMARKS.md", "peers", text)


if __name__ == "__main__":
    main()

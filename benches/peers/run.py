#!/usr/bin/env python3
"""Runs the kernels of `benches/kernels` in NumPy, Numba, JAX and PyTorch, interleaved with ours.

    benches/peers/run.py [--rounds N] [--only TEXT] [--libraries numpy,numba,...]

Makes a virtual environment in target/peers, builds the benchmark, and times every row in turn: one worker process per
library, and one of ours, each asked for one measurement a round. Writes the medians (milliseconds) to
target/peers/results.json, which the benchmark takes with --peers, and the table into docs/BENCHMARKS.md.
"""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
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
    subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
    return python


class Worker:
    def __init__(self, name, command):
        # Idle workers must not keep the cores busy.
        env = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
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


def ours():
    """The command that serves our kernels."""
    build = ["cargo", "bench", "--quiet", "--package", "acc-benches", "--bench", "kernels", "--no-run", "--message-format=json"]
    out = subprocess.run(build, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    built = [json.loads(line) for line in out.splitlines()]
    executables = [b["executable"] for b in built if b.get("executable") and b["target"]["name"] == "kernels"]
    return [executables[-1], "--serve"]


def measured(workers, row, rounds):
    """The median milliseconds of a row by worker, and the ratio of two measurements of ours in the same round."""
    ready = [w for w in workers if w.ask({"prepare": row})["ready"]]
    seconds = {w.name: [] for w in ready}
    again = []
    for _ in range(rounds):
        for w in ready:
            seconds[w.name].append(w.ask({"time": None})["seconds"])
            if w.name == OURS:
                again.append(w.ask({"time": None})["seconds"] / seconds[OURS][-1])
    for w in ready:
        w.ask({"prepare": ""})
    noise = max(abs(math.log(x)) for x in (statistics.quantiles(again, n=4)[0], statistics.quantiles(again, n=4)[2]))
    return {name: 1e3 * statistics.median(s) for name, s in seconds.items()}, math.exp(noise) - 1


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else float("nan")


def page(results, noise, libraries, python, rounds):
    code = "import importlib.metadata as m, sys; print(*[f'{p} {m.version(p)}' for p in sys.argv[1:]], sep=', ')"
    versions = subprocess.run([python, "-c", code, *libraries], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    lines = [
        f"{versions}, Python {platform.python_version()}, {os.cpu_count()} cores. Medians of {rounds} rounds in milliseconds, the",
        "processes in turn; the noise is what two measurements of ours in one round differ by (quartiles).",
        "",
        f"| kernel | ours | {' | '.join(libraries)} | best / ours | noise |",
        f"|---|--:|{'--:|' * len(libraries)}--:|--:|",
    ]
    bests = []
    for row, ms in results.items():
        peers = {p: ms[p] for p in libraries if p in ms}
        best = min(peers.values()) / ms[OURS] if peers else float("nan")
        bests += [best] if peers else []
        cells = [f"{peers[p]:.4g}" if p in peers else "" for p in libraries]
        lines.append(f"| {row} | {ms[OURS]:.4g} | {' | '.join(cells)} | {best:.2f} | {100 * noise[row]:.0f} % |")
    of = {p: mean([ms[p] / ms[OURS] for ms in results.values() if p in ms]) for p in libraries}
    lines += ["", "Geometric mean of how much longer each takes: " + ", ".join(f"{p} {r:.2f}" for p, r in of.items())
              + f"; the best of all in each row {mean(bests):.2f}."]
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
    results, noise = {}, {}
    for row in workers[0].kernels:
        if options.only not in row:
            continue
        results[row], noise[row] = measured(workers, row, options.rounds)
        print(row, {name: round(ms, 4) for name, ms in results[row].items()}, flush=True)
    record = {row: {p: t for p, t in ms.items() if p != OURS} for row, ms in results.items()}
    (FOLDER / "results.json").write_text(json.dumps(record, indent=1))
    text = page(results, noise, libraries, python, options.rounds)
    print(text)
    if not options.only:
        replace(ROOT / "docs" / "BENCHMARKS.md", "peers", text)


if __name__ == "__main__":
    main()

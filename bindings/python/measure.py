"""Time to compile a profile through this package, beside the native library and the command:

    python measure.py PROFILE [COMMAND]

The native library takes the same request, as JSON, and returns the answer as JSON; the rest is Python's share.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, List

import callgate
from callgate._source import request_of

ROUNDS = 300


def main(path: str, *command: str) -> None:
    arches = ["x86_64", "x86", "x32"]
    source = callgate.Source(Path(path), machine="x86_64", kernel="6.12", arches=arches)
    request = json.dumps(request_of("compile", {"source": source}, {}))
    with_python = lambda: callgate.compile(source)
    native = lambda: callgate.answer(request)
    show("callgate.compile", "the native library", with_python, native, ROUNDS)
    if command:
        options = [option for arch in arches for option in ("--arch", arch)]
        code = f"import callgate, pathlib; callgate.compile(pathlib.Path({path!r}), arches={arches})"
        processes = [[sys.executable, "-c", code], [*command, "compile", path, *options, "-o", "/dev/null"]]
        run = lambda words: subprocess.run(words, check=True)
        show("process of Python", "process of the command", lambda: run(processes[0]), lambda: run(processes[1]), 40)


def show(name: str, base_name: str, function: Callable[[], object], base: Callable[[], object], rounds: int) -> None:
    """Prints the medians of both, measured in turns."""
    times: List[List[float]] = [[], []]
    for _ in range(rounds):
        for kept, one in zip(times, (function, base)):
            start = time.perf_counter()
            one()
            kept.append(time.perf_counter() - start)
    first, second = map(statistics.median, times)
    print(f"{name}: {first * 1e3:.2f} ms, {base_name}: {second * 1e3:.2f} ms, ratio {first / second:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Threads with filters of their own: only the thread that logs may write to the log.

All threads share their memory, so this guards against mistakes, not against code of an attacker; for that, use processes.
"""

import os
import tempfile
import threading
from queue import SimpleQueue

import callgate

POLICY = "ERRNO(1) { write { fd == $log } } DEFAULT ALLOW"


def write(log: int, line: str) -> str:
    try:
        os.write(log, f"{line}\n".encode())
        return f"{line}: written"
    except OSError as error:
        return f"{line}: {error.strerror}"


def main() -> None:
    template = callgate.compile_template(POLICY)
    lines: "SimpleQueue[str]" = SimpleQueue()
    with tempfile.TemporaryFile() as log:
        # The calling thread has no filter, and what it starts before it installs one has none either.
        logger = threading.Thread(target=lambda: print(write(log.fileno(), lines.get())))
        logger.start()

        def work() -> None:
            template.instantiate(log=log.fileno()).install(tsync=False)
            print(write(log.fileno(), "by the worker"))
            lines.put("by the logger")

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        logger.join()


if __name__ == "__main__":
    main()

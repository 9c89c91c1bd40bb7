"""Workers that evaluate untrusted input, each limited to its own two pipes.

The parent compiles the policy once. A worker sets the numbers of its pipes when they are known, and installs the filter; from
then on it can neither open a file nor make a connection, start a program or write to another worker's pipe.
"""

import ast
import multiprocessing
import os
from multiprocessing.connection import Connection
from typing import Callable

import callgate

# What the interpreter itself needs: memory that is not executable, locks, signals, and its end.
POLICY = """
ALLOW {
  read  { fd == $requests },
  write { fd == $answers || fd == 2 },
  mmap { (prot & 4) == 0 }, mprotect { (prot & 4) == 0 }, munmap, mremap, brk, madvise,
  futex, sched_yield, getpid, gettid, getrandom, clock_gettime, clock_nanosleep, restart_syscall,
  rt_sigaction, rt_sigprocmask, rt_sigreturn, sigaltstack,
  close, exit, exit_group
} DEFAULT ERRNO(1)
"""


def evaluate(text: str) -> str:
    return repr(ast.literal_eval(text))


def attack(path: str) -> str:
    """What a worker might do after an attacker took it over."""
    try:
        return open(path).read()
    except OSError as error:
        return f"{path}: {error.strerror}"


def worker(template: callgate.Template, work: Callable[[str], str], requests: Connection, answers: Connection) -> None:
    """Answers requests until an empty one."""
    template.instantiate(requests=requests.fileno(), answers=answers.fileno()).install()
    while text := requests.recv_bytes().decode():
        answers.send_bytes(work(text).encode())
    # What multiprocessing does at the end would be denied.
    os._exit(0)


class Worker:
    """A process with a pipe in each direction."""

    def __init__(self, template: callgate.Template, work: Callable[[str], str]) -> None:
        requests, self.requests = multiprocessing.Pipe(duplex=False)
        self.answers, answers = multiprocessing.Pipe(duplex=False)
        self.process = multiprocessing.Process(target=worker, args=(template, work, requests, answers))
        self.process.start()
        # So that the parent sees when the worker ends.
        requests.close()
        answers.close()

    def ask(self, text: str) -> str:
        self.requests.send_bytes(text.encode())
        return self.answers.recv_bytes().decode()

    def close(self) -> None:
        self.requests.send_bytes(b"")
        self.process.join()


def main() -> None:
    template = callgate.compile_template(POLICY, name="worker.kafel")
    workers = [Worker(template, evaluate), Worker(template, attack)]
    print(workers[0].ask("{'sum': (1, 2)}"))
    print(workers[1].ask("/etc/passwd"))
    for one in workers:
        one.close()


if __name__ == "__main__":
    main()

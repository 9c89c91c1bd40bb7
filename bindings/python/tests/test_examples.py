"""The examples run."""

import errno
import os
import runpy
import subprocess
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Examples(unittest.TestCase):
    def run_example(self, name, *arguments):
        command = [sys.executable, str(EXAMPLES / name), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        return done.stdout

    def test_sandbox(self):
        self.assertEqual(self.run_example("sandbox.py"), "Operation not permitted\n")

    def test_template(self):
        self.assertIn("write to 7: ALLOW\nwrite to 8: ERRNO(EPERM)\n", self.run_example("template.py"))

    def test_compare(self):
        self.assertIn("unshare", self.run_example("compare.py"))

    def test_recording(self):
        self.assertIn("close", self.run_example("recording.py"))

    def test_worker(self):
        self.assertEqual(self.run_example("worker.py"), "{'sum': (1, 2)}\n/etc/passwd: Operation not permitted\n")

    def test_threads(self):
        written = self.run_example("threads.py")
        self.assertEqual(written, "by the worker: Operation not permitted\nby the logger: written\n")

    def test_supervisor(self):
        expected = "inside: made\ninside: File exists\noutside: Operation not permitted\n"
        self.assertEqual(self.run_example("supervisor.py"), expected)
        # A worker that gives a bad address, and is killed before the answer, ends no supervisor.
        answers = []

        def fail(number):
            answers.append(number)
            raise FileNotFoundError

        call = SimpleNamespace(pid=os.getpid(), call="mkdir", args=[2**64 - 1] * 6, fail=fail)
        runpy.run_path(str(EXAMPLES / "supervisor.py"))["supervise"]([call, call], b"/")
        self.assertEqual(answers, [errno.EFAULT] * 2)

    def test_every_example_is_tested(self):
        names = {path.name for path in EXAMPLES.glob("*.py")}
        tests = {f"{name[5:]}.py" for name in dir(self) if name.startswith("test_") and "every" not in name}
        self.assertEqual(names, tests)

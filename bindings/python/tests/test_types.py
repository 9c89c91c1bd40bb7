"""The types of the package, and of its examples, are complete."""

import os
import pydoc
import subprocess
import sys
import unittest
from pathlib import Path

import callgate

DIRECTORY = Path(__file__).resolve().parent.parent


class Types(unittest.TestCase):
    def test_mypy(self):
        try:
            import mypy  # noqa: F401
        except ImportError:
            if "mypy" in os.environ.get("CALLGATE_REQUIRE", "").split(","):
                raise
            self.skipTest("mypy is missing")
        environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
        examples = [str(path) for path in sorted(DIRECTORY.glob("examples/*.py"))]
        for what in (["-p", "callgate"], examples):
            command = [sys.executable, "-m", "mypy", "--strict", *what]
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_package_has_types(self):
        self.assertTrue(Path(callgate.__file__).with_name("py.typed").exists())

    def test_everything_public_is_documented(self):
        for name in callgate.__all__:
            if name != "SourceLike":
                self.assertTrue(getattr(callgate, name).__doc__, name)

    def test_the_help_of_options_says_what_each_is(self):
        for options in (callgate.SourceOptions, callgate.CompileOptions, callgate.InstallOptions):
            described = pydoc.getdoc(options)
            for name in options.__annotations__:
                inherited = options is callgate.CompileOptions and name in callgate.SourceOptions.__annotations__
                self.assertTrue(inherited or f"\n{name}: " in described, f"{options.__name__}.{name}")

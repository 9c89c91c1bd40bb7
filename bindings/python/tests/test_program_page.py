"""The program in Python of docs/how-to/filters-in-python.md does what it says."""

import re
import subprocess
import sys
import unittest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "filters-in-python.md"


class ProgramPage(unittest.TestCase):
    def test_the_program_runs(self):
        programs = re.findall("<!-- python -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        self.assertTrue(programs)
        for program in programs:
            result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
            self.assertEqual(result.stderr, "")
            *warnings, last = result.stdout.splitlines()
            self.assertEqual(last, "Operation not permitted")
            # Of a list of what is denied.
            self.assertIn("syscalls of x32", "".join(warnings))

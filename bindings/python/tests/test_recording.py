"""Recordings as data."""

import json
import tempfile
import unittest
from pathlib import Path

import callgate

LOG = (
    '1 openat(AT_FDCWD, "/etc/passwd", O_RDONLY) = 3\n1 close(3) = 0\n1 close(4) = 0\n1 close(0x3) = 0\nwhat is this\n'
)
CALLS = [
    {"arch": "x86_64", "name": "close", "nr": 3, "count": 12, "args": [{"values": ["0x3", "0xffffffffffffffff"]}]},
    {"arch": "x86_64", "name": "mmap", "count": 40, "args": [{"min": 0, "max": 28672, "ever": 28672, "always": 0}]},
    {"arch": "x86", "name": "brk", "nr": 45, "count": 4, "args": [{"values": [0], "observed": 3}]},
]
RECORDING = {
    "callgate": "recording",
    "version": 1,
    "runs": [{"how": "ptrace", "command": ["ls", "a b"]}],
    "calls": CALLS,
}


class Recordings(unittest.TestCase):
    def test_a_recording_of_callgate(self):
        rows = callgate.recording(json.dumps(RECORDING))
        unknown = {f"arg{at}": None for at in range(6)}
        close = {"command": "ls 'a b'", "arch": "x86_64", "call": "close", "nr": 3, "count": 12, "runs": 1}
        self.assertEqual(rows[0], {**close, **unknown, "arg0": [3, 2**64 - 1]})
        self.assertEqual(rows[1]["arg0"], {"min": 0, "max": 28672, "ever": 28672, "always": 0})
        # The value of one occurrence is not known.
        self.assertEqual((rows[2]["call"], rows[2]["arch"], rows[2]["arg0"]), ("brk", "x86", None))
        self.assertEqual(rows.runs[0]["how"], "ptrace")

    def test_every_row_has_the_same_keys(self):
        self.assertEqual(len({tuple(row) for row in callgate.recording(json.dumps(RECORDING))}), 1)

    def test_a_log_of_strace(self):
        rows = callgate.recording(LOG.encode(), machine="aarch64", name="log")
        self.assertEqual(
            [(row["call"], row["nr"], row["count"]) for row in rows], [("openat", 56, 1), ("close", 57, 3)]
        )
        self.assertEqual((rows[0]["command"], rows[0]["arg2"], rows[1]["arg0"]), (None, None, [3, 4]))
        (warning,) = rows.warnings
        self.assertEqual((warning.source, warning.line), ("log", 5))

    def test_runs_of_one_command_keep_it(self):
        two = {**RECORDING, "runs": RECORDING["runs"] * 2}
        self.assertEqual(callgate.recording(json.dumps(two))[0]["command"], "ls 'a b'")
        two["runs"] = [*RECORDING["runs"], {"how": "ptrace", "command": ["cat"]}]
        self.assertIsNone(callgate.recording(json.dumps(two))[0]["command"])

    def test_a_truncated_recording(self):
        text = json.dumps(RECORDING)[:-60]
        self.assertRaises(callgate.CallgateError, callgate.recording, text)
        rows = callgate.recording(text, partial=True)
        self.assertEqual([row["call"] for row in rows], ["close", "mmap"])
        self.assertIn("cut-off", [caveat["id"] for caveat in rows.caveats])

    def test_a_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "counts")
            path.write_text("read 12\nwriet 3\n")
            self.assertEqual(callgate.recording(path)[0]["count"], 12)
            with self.assertRaises(callgate.CallgateError) as caught:
                callgate.recording(path, strict=True)
            self.assertEqual(caught.exception.diagnostics[0].source, str(path))

    def test_not_a_recording(self):
        for text in ("", "{}", "hello", b"\xff\xfe"):
            self.assertRaises(callgate.CallgateError, callgate.recording, text)

    def test_a_recording_gives_weights(self):
        program = callgate.compile(
            callgate.preset("container-default"), weights="close 100\n", machine="x86_64", kernel="6.12"
        )
        self.assertLessEqual(program.expected_insns, callgate.compile(program, machine="x86_64").expected_insns)

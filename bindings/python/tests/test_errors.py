"""Bad inputs are exceptions of Python."""

import json
import pickle
import tempfile
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import callgate

from .profiles import HERE, SMALL

# Exceeds the budget of a diagram, after a while.
COMPLEX = "ld [16]\ntax\nld [24]\nmul x\njeq #12345, 0, 1\nret ALLOW\nret KILL\n"


def error_of(*filters, function=callgate.compile, **options):
    try:
        function(*filters, **{**HERE, **options})
    except callgate.CallgateError as error:
        return error
    raise AssertionError("no error")


class Errors(unittest.TestCase):
    def test_an_error_has_a_position(self):
        error = error_of(SMALL.replace("ERRNO", "ERNO", 1), name="a.json")
        (first,) = error.diagnostics
        self.assertEqual((first.severity, first.source, first.line, first.column), ("error", "a.json", 2, 20))
        self.assertTrue(str(error).startswith('a.json:2:20: error: `defaultAction` is "SCMP_ACT_ERNO"'), error)
        self.assertTrue(str(error).endswith('\n  help: did you mean "SCMP_ACT_ERRNO"?'), error)
        self.assertIsInstance(error, ValueError)
        self.assertEqual(pickle.loads(pickle.dumps(error)).diagnostics, error.diagnostics)

    def test_warnings_are_among_errors_but_not_in_the_text(self):
        error = error_of(SMALL.replace("CMP_EQ", "CMP_EK").replace("wri", "wro"))
        self.assertEqual({one.severity for one in error.diagnostics}, {"warning", "error"})
        self.assertNotIn("wrote", str(error))

    def test_sides_have_names(self):
        self.assertTrue(str(error_of(SMALL, "{", function=callgate.diff)).startswith("b:1:"))

    def test_malformed_utf_8_has_a_position(self):
        broken = b'{\n  "\xc3\xa4": "\xff"}'
        first = error_of(broken, name="b").diagnostics[0]
        self.assertEqual((first.source, first.line, first.column), ("b", 2, 9))
        first = error_of("{\n \ud800").diagnostics[0]
        self.assertEqual((first.line, first.column), (2, 2))
        self.assertEqual(error_of(SMALL, files={"inc": b"\xff"}).diagnostics[0].source, "inc")
        error_of(SMALL, name="\udcff")
        error_of(b"\xff", function=lambda text, **_: callgate.recording(text))
        self.assertIn("not UTF-8", callgate.answer(b"\xff"))

    def test_bad_filters(self):
        bad = {
            "empty": "",
            "nesting": "[" * (1 << 20),
            "large": " " * (33 << 20),
            "large bytes": b" " * (33 << 20),
            "large program": b"\0" * (33 << 20),
            "keys": "{" + '"a":1,' * (1 << 20) + '"b":1}',
            "no instructions": [],
            "jump": [(0x15, 9, 9, 0)],
            "code": [(1 << 16, 0, 0, 0)],
            "negative": [(6, 0, 0, -1)],
            "fields": [(6, 0, 0)],
            "odd bytes": b"\0\0\0",
            "no profile": {"a": [None]},
            "preset": callgate.preset("none"),
        }
        for name, filter in bad.items():
            with self.subTest(name):
                self.assertTrue(error_of(filter).diagnostics)

    def test_bad_options(self):
        for option in (
            {"machine": "pdp11"},
            {"kernel": "six"},
            {"format": "xml"},
            {"arches": "x86_64"},
            {"arches": ["x"]},
            {"files": {"a": b"\xff"}},
            {"strict": 1},
            {"set": {"x": 1}},
            {"model": "fast"},
            {"weights": "\0"},
        ):
            with self.subTest(option):
                self.assertTrue(error_of(SMALL, **option).diagnostics)

    def test_wrong_types(self):
        for filter in (
            None,
            7,
            1.5,
            object(),
            {1, 2},
            [1],
            [(6, 0, 0, 1.5)],
            ["abcd"],
            [None],
            {"a": object()},
            iter(()),
        ):
            with self.subTest(repr(filter)):
                self.assertRaises(TypeError, callgate.compile, filter)
        wrong = [
            lambda: callgate.compile(SMALL, kernl="6.12"),
            lambda: callgate.explain(SMALL, model="cached"),
            lambda: callgate.Source(SMALL, model="cached"),
            lambda: callgate.compile(SMALL, files=["a"]),
            lambda: callgate.compile(SMALL, files={"a": 1}),
            lambda: callgate.compile(SMALL, weights=object()),
            lambda: callgate.simulate(SMALL, 1.5),
            lambda: callgate.simulate(SMALL, "read", None),
            lambda: callgate.explain(SMALL, b"read"),
            lambda: callgate.merge(7),
            lambda: callgate.recording(7),
            lambda: callgate.answer(7),
        ]
        for number, call in enumerate(wrong):
            with self.subTest(number):
                self.assertRaises(TypeError, call)

    def test_what_must_not_be_there(self):
        self.assertRaises(callgate.CallgateError, callgate.simulate, SMALL, "reed", **HERE)
        self.assertRaises(callgate.CallgateError, callgate.simulate, SMALL, "read", *range(7), **HERE)
        self.assertRaises(callgate.CallgateError, callgate.simulate, SMALL, "read", 2**64, **HERE)
        self.assertRaises(callgate.CallgateError, callgate.explain, SMALL, "reed", **HERE)
        self.assertRaises(callgate.CallgateError, callgate.merge, [], **HERE)
        with tempfile.NamedTemporaryFile() as file:
            self.assertIn("give pathlib.Path", str(error_of(file.name)))
        self.assertRaises(FileNotFoundError, callgate.compile, Path("/nonexistent/profile.json"))

    def test_a_filter_that_is_too_complex(self):
        error_of(COMPLEX, function=callgate.explain)
        self.assertTrue(callgate.compile(SMALL, **HERE))


class Threads(unittest.TestCase):
    def test_threads_compile_at_the_same_time(self):
        one = callgate.compile(SMALL, **HERE)
        with ThreadPoolExecutor(8) as pool:
            self.assertEqual(set(pool.map(lambda _: callgate.compile(SMALL, **HERE), range(64))), {one})

    def test_other_threads_run_while_one_compiles(self):
        request = {"request": "explain", "machine": "x86_64", "source": {"text": COMPLEX}}
        text = json.dumps(request).encode()
        ticks, most = [0], [0]

        def work():
            # If the call kept the GIL, the other thread could run only before and after it.
            for _ in range(10):
                before = ticks[0]
                callgate.answer(text)
                most[0] = max(most[0], ticks[0] - before)
                if most[0] >= 50:
                    break

        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():
            time.sleep(0.001)
            ticks[0] += 1
        self.assertGreaterEqual(most[0], 50)

"""All bindings answer the same requests with the same bytes."""

import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import callgate

VECTORS = Path(__file__).resolve().parents[2] / "vectors"


def requests():
    return sorted(VECTORS.glob("*.request.json"))


class Vectors(unittest.TestCase):
    def compare(self, path):
        want = path.with_name(path.name.replace(".request.", ".answer.")).read_bytes()
        return path.name, callgate.answer(path.read_bytes()).encode() == want

    def test_answers_are_those_of_the_native_library(self):
        paths = requests()
        self.assertGreater(len(paths), 70)
        with ThreadPoolExecutor(4) as pool:
            results = pool.map(self.compare, paths + paths)
        self.assertEqual([name for name, is_same in results if not is_same], [])

    def test_small_stacks_are_enough(self):
        different = []

        def work():
            different.extend(name for name, is_same in map(self.compare, requests()) if not is_same)

        before = threading.stack_size(256 << 10)
        try:
            thread = threading.Thread(target=work)
            thread.start()
        finally:
            threading.stack_size(before)
        thread.join()
        self.assertEqual(different, [])

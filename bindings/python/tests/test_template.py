"""Templates: programs with variables."""

import inspect
import random
import unittest

import callgate

from .profiles import HERE, SMALL

# Conditions with both halves, an addend and a complement.
POLICY = """ALLOW {
  write { fd == $log },
  read { fd == $log || count <= $limit },
  mmap { (prot & ~$prot) == 0 && len >= $limit + 4096 },
  exit_group
} DEFAULT KILL_PROCESS"""
NARROW, WIDE = [0, 1, 7, 2**31, 2**32 - 1], [0, 1, 4095, 2**32 - 4096, 2**32, 2**63, 2**64 - 4096, 2**64 - 1]


class Templates(unittest.TestCase):
    def setUp(self):
        self.template = callgate.compile_template(POLICY, **HERE)

    def test_variables_and_patches(self):
        found = [(one.name, one.bits) for one in self.template.variables]
        self.assertEqual(found, [("log", 32), ("limit", 64), ("prot", 64)])
        self.assertEqual(
            {(patch.half, patch.complement) for patch in self.template.patches if patch.variable == 2},
            {("high", True), ("low", True)},
        )
        self.assertEqual({patch.addend for patch in self.template.patches}, {0, 4096})
        self.assertIn("variables: log, limit, prot", repr(self.template))

    def test_an_instance_is_equivalent_to_the_filter_that_was_compiled_with_the_values(self):
        numbers = random.Random(1)
        for _ in range(60):
            values = {"log": numbers.choice(NARROW), "limit": numbers.choice(WIDE), "prot": numbers.choice(WIDE)}
            with self.subTest(values):
                compiled = callgate.Source(POLICY, set=values, **HERE)
                self.assertEqual(callgate.diff(self.template.instantiate(**values), compiled), [])

    def test_an_instance_is_a_program(self):
        program = self.template.instantiate(log=7, limit=0, prot=3)
        self.assertTrue(program.simulate("write", 7).permitted)
        self.assertFalse(program.simulate("write", 8).permitted)
        self.assertTrue(bytes(program))
        for name in ("variables", "patches", "instantiate"):
            self.assertFalse(hasattr(program, name), name)
        other = self.template.instantiate(log=8, limit=0, prot=3)
        self.assertTrue(other.simulate("write", 8).permitted)
        self.assertNotEqual(program, other)

    def test_a_template_is_not_a_program(self):
        for name in ("to_bytes", "__bytes__", "install", "simulate", "explain"):
            self.assertFalse(hasattr(self.template, name), name)
        for function in (callgate.compile, callgate.explain, callgate.optimize):
            self.assertRaises(TypeError, function, self.template)
        self.assertRaises(TypeError, callgate.diff, self.template, POLICY)

    def test_values_are_checked(self):
        good = {"log": 1, "limit": 1, "prot": 1}
        for wrong, text in (
            ({"log": 2**32}, "0x100000000 does not fit into `log`, which has 32 bits"),
            ({"limit": 2**64}, "which has 64 bits"),
            ({"log": -1}, "-0x1 does not fit into `log`"),
            ({"lgo": 1}, "no variable `lgo`\n  help: the variables are log, limit, prot"),
        ):
            with self.subTest(wrong), self.assertRaises(callgate.CallgateError) as caught:
                self.template.instantiate(**{**good, **wrong})
            self.assertIn(text, str(caught.exception))
        with self.assertRaisesRegex(callgate.CallgateError, "`prot` has no value"):
            self.template.instantiate(log=1, limit=1)
        for wrong in ("1", 1.0, None):
            self.assertRaises(TypeError, self.template.instantiate, **{**good, "log": wrong})
        self.assertRaises(TypeError, self.template.instantiate, 1)

    def test_a_policy_without_values_is_an_error(self):
        for function in (callgate.compile, callgate.explain):
            self.assertRaises(callgate.CallgateError, function, POLICY, **HERE)

    def test_a_profile_without_variables_has_one_instance(self):
        template = callgate.compile_template(SMALL, **HERE)
        self.assertEqual((template.variables, template.patches), ((), ()))
        self.assertEqual(template.instantiate().insns, callgate.compile(SMALL, **HERE).insns)

    def test_names_may_be_words_of_python(self):
        template = callgate.compile_template("ALLOW { read { fd == $self || fd == $in } } DEFAULT KILL", **HERE)
        self.assertTrue(template.instantiate(**{"self": 3, "in": 4}).simulate("read", 4).permitted)

    def test_the_patcher_is_small(self):
        lines = inspect.getsource(callgate.Template.instantiate).splitlines()
        self.assertLessEqual(len(lines), 30)

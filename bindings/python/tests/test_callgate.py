"""What the functions return."""

import json
import pickle
import tempfile
import unittest
from pathlib import Path

import callgate

from .profiles import HERE, LONG, SMALL, WITH_PTRACE


class Compile(unittest.TestCase):
    def setUp(self):
        self.program = callgate.compile(SMALL, **HERE)

    def test_a_program_has_figures(self):
        program = self.program
        self.assertEqual((program.arches, program.endian, program.flags), (("x86_64",), "little", ()))
        self.assertEqual((program.constant_allow, program.proved, program.warnings), (2, True, ()))
        self.assertGreater(program.expected_insns, 1)
        self.assertEqual(len(program), len(program.insns))
        self.assertEqual(program.insns[0]._fields, ("code", "jt", "jf", "k"))

    def test_a_program_is_equivalent_to_its_source(self):
        self.assertEqual(callgate.diff(SMALL, self.program, **HERE), [])
        self.assertFalse(callgate.diff(bytes(self.program), self.program, **HERE))
        self.assertFalse(callgate.diff(list(self.program), self.program, **HERE))

    def test_bytes_are_in_the_order_of_the_machine(self):
        little = bytes(self.program)
        self.assertEqual(little, self.program.to_bytes())
        self.assertEqual(little[:8], bytes([0x20, 0, 0, 0, *self.program.insns[0].k.to_bytes(4, "little")]))
        big = callgate.compile(SMALL, machine="s390x", kernel="6.12")
        self.assertEqual(big.to_bytes()[:8], bytes([0, 0x20, 0, 0, *big.insns[0].k.to_bytes(4, "big")]))
        self.assertFalse(callgate.diff(big, callgate.Source(bytes(big), arches=["s390x"]), machine="s390x"))

    def test_the_same_profile_in_every_form(self):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "profile.json")
            path.write_text(SMALL)
            raw = Path(directory, "filter.bpf")
            raw.write_bytes(bytes(self.program))
            for form in (
                SMALL.encode(),
                bytearray(SMALL.encode()),
                json.loads(SMALL),
                path,
                callgate.Source(SMALL),
                raw,
            ):
                with self.subTest(type(form).__name__):
                    self.assertEqual(callgate.compile(form, **HERE).insns, self.program.insns)
            self.assertEqual(callgate.compile(path, **HERE).name, str(path))

    def test_options_reach_the_compiler(self):
        source = callgate.Source(SMALL, arches=["x86_64", "x86"], name="two", **HERE)
        self.assertEqual(callgate.compile(source).arches, ("x86_64", "x86"))
        self.assertEqual(callgate.compile(source, arches=["aarch64"], machine="aarch64").arches, ("aarch64",))
        weighted = callgate.compile(
            source, weights="write 100\n", optimize="size", model="uncached", instructions="basic"
        )
        self.assertEqual(weighted.name, "two")
        self.assertTrue(all(insn.code & 0x47 != 0x45 for insn in weighted), "basic programs have no jset")
        files = {"base.policy": b"POLICY base { ALLOW { read } }"}
        including = callgate.compile(
            '#include "base.policy"\nUSE base DEFAULT KILL', files=files, format="kafel", **HERE
        )
        self.assertTrue(including.simulate("read").permitted)

    def test_none_is_the_default(self):
        none = callgate.compile(SMALL, arches=None, name=None, model=None, files=None, **HERE)
        self.assertEqual((none.insns, none.name), (self.program.insns, "profile"))

    def test_variables_get_values(self):
        policy = "ALLOW { read { fd == $in } } DEFAULT KILL"
        self.assertTrue(callgate.simulate(policy, "read", 7, set={"in": 7}, **HERE).permitted)
        self.assertFalse(callgate.simulate(policy, "read", 8, set={"in": "7"}, **HERE).permitted)

    def test_warnings_are_in_the_program(self):
        text = SMALL.replace('"write"', '"wriet"')
        (warning,) = callgate.compile(text, **HERE).warnings
        self.assertEqual((warning.severity, warning.source, warning.line), ("warning", "profile", 4))
        self.assertRaises(callgate.CallgateError, callgate.compile, text, strict=True, **HERE)

    def test_a_notebook_shows_figures_and_verdicts(self):
        html = callgate.compile(SMALL, name="<b>", **HERE)._repr_html_()
        self.assertIn("<caption>&lt;b&gt;</caption>", html)
        self.assertIn("<th>x86_64: ALLOW</th><td>2 syscalls</td><td>read write</td>", html)
        self.assertIn("args[0] == 8", html)
        self.assertIn("personality", self.program.explain()._repr_html_())

    def test_representations(self):
        self.assertRegex(
            repr(self.program), r"^<callgate.Program 'profile': \d+ instructions, .* 2 constant allow, x86_64>$"
        )
        self.assertEqual(
            repr(callgate.preset("no-ptrace", kernel="6.1")),
            "<callgate.Source 'preset:no-ptrace': preset, kernel='6.1'>",
        )
        self.assertEqual(pickle.loads(pickle.dumps(self.program)), self.program)
        self.assertEqual(len({self.program, callgate.compile(SMALL, **HERE)}), 1)

    def test_defaults_are_those_of_this_machine(self):
        self.assertTrue(callgate.compile(callgate.preset("container-default")).simulate("read").permitted)


class Expressions(unittest.TestCase):
    APP = "ALLOW { read, write, mount } DEFAULT KILL"

    def verdicts(self, source, *calls, **options):
        program = callgate.compile(source, **{**HERE, **options})
        return [program.simulate(call).verdict for call in calls]

    def test_sources_presets_and_syscalls_are_combined(self):
        source = callgate.expression("app + ptrace - mount:ENOSYS ^ preset:no-io-uring", sources={"app": self.APP})
        verdicts = self.verdicts(source, "read", "ptrace", "mount", "openat")
        self.assertEqual(verdicts, ["ALLOW", "ALLOW", "ERRNO(ENOSYS)", "KILL_THREAD"])
        self.assertEqual(callgate.compile(source, **HERE).name, "app + ptrace - mount:ENOSYS ^ preset:no-io-uring")
        self.assertEqual(callgate.subset(self.APP, callgate.expression("app + ptrace", sources={"app": self.APP}), **HERE), [])

    def test_without_sources(self):
        self.assertEqual(self.verdicts(callgate.expression("container-default + mount"), "mount"), ["ALLOW"])
        self.assertTrue(callgate.compile(callgate.expression("container-default + mount")).proved)

    def test_options_are_for_all_sources_that_have_none(self):
        profile = {
            "defaultAction": "SCMP_ACT_ERRNO",
            "syscalls": [{"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}}],
        }
        mixed = {"app": profile, "old": callgate.Source({**profile}, kernel="4.4")}
        for kernel, expected in (("4.4", "ERRNO(EPERM)"), ("6.12", "ALLOW")):
            source = callgate.expression("app ^ app", sources={"app": profile}, kernel=kernel)
            self.assertEqual(callgate.compile(source, machine="x86_64").simulate("ptrace").verdict, expected)
            self.assertEqual(self.verdicts(callgate.expression("app ^ old", sources=mixed), "ptrace", kernel=kernel), ["ERRNO(EPERM)"])

    def test_errors_name_the_source(self):
        with self.assertRaises(callgate.CallgateError) as caught:
            callgate.compile(callgate.expression("app + ptrace", sources={"app": "ALLOW { wriet } DEFAULT KILL"}), **HERE)
        self.assertEqual([(one.source, one.line) for one in caught.exception.diagnostics], [("app", 1)])

    def test_a_text_is_not_an_expression(self):
        for text in ("container-default + ptrace", "a - b:ENOSYS ^ c"):
            with self.assertRaisesRegex(callgate.CallgateError, r"give callgate\.expression"):
                callgate.compile(text)


class Compare(unittest.TestCase):
    LOOSER = SMALL.replace('"read"', '"read", "ptrace"')

    def test_subset(self):
        self.assertFalse(callgate.subset(SMALL, self.LOOSER, **HERE))
        (witness,) = callgate.subset(self.LOOSER, SMALL, **HERE)
        self.assertEqual((witness.call, witness.a.verdict, witness.b.value), ("ptrace", "ALLOW", 0x50001))

    def test_diff(self):
        differences = callgate.diff(SMALL, self.LOOSER.replace("wri", "wro"), **HERE)
        self.assertEqual({one.call for one in differences}, {"ptrace", "write"})
        self.assertEqual(str(differences[0].b.outcome), str(differences[0].b))
        self.assertEqual(str(differences[0]), f"x86_64 {differences[0].call}: {differences[0].a} != {differences[0].b}")
        self.assertEqual([warning.source for warning in differences.warnings], ["b"])

    def test_merge(self):
        merged = callgate.merge([SMALL, callgate.preset("no-sockets"), LONG], **HERE)
        self.assertEqual(merged.name, "profile + preset:no-sockets + program")
        self.assertFalse(merged.simulate("read").permitted)

    def test_optimize(self):
        better = callgate.optimize(LONG, machine="x86_64")
        self.assertLess(len(better), len(LONG))
        self.assertTrue(better.proved)
        again = callgate.optimize(better, machine="x86_64")
        self.assertEqual((again.insns, again.proved, bool(again.reason)), (better.insns, False, True))


class Lint(unittest.TestCase):
    def test_findings(self):
        found = callgate.lint(WITH_PTRACE, allow=["needed-call"], **HERE)
        (powerful,) = [one for one in found if one.id == "powerful-call"]
        self.assertEqual((powerful.level, powerful.syscalls, powerful.arches), ("warning", ("ptrace",), ("x86_64",)))
        self.assertIn(f"profile:{powerful.line}:{powerful.column}: warning[powerful-call]: ", str(powerful))
        (example,) = powerful.examples
        self.assertEqual((str(example), example.nr, example.value), ("x86_64 ptrace(): ALLOW", 101, 0x7FFF0000))
        self.assertGreater(found.silenced, 0)
        self.assertEqual([row["id"] for row in found.rows()], [one.id for one in found])

    def test_levels(self):
        errors = callgate.lint(WITH_PTRACE, level="error", **HERE)
        self.assertFalse(errors)
        self.assertEqual(errors.below_level, len(callgate.lint(WITH_PTRACE, level="note", **HERE)))

    def test_misuse(self):
        self.assertRaisesRegex(TypeError, "allow", callgate.lint, WITH_PTRACE, allow="notify", **HERE)
        for wrong in ({"allow": ["powerful"]}, {"level": "info"}):
            self.assertRaises(callgate.CallgateError, callgate.lint, WITH_PTRACE, **wrong, **HERE)
        self.assertRaises(TypeError, callgate.lint, WITH_PTRACE, model="cached")


class Explain(unittest.TestCase):
    def test_explain(self):
        explanation = callgate.explain(SMALL, "personality", **HERE)
        (group,) = explanation.arches[0].groups
        self.assertEqual(group.calls, ((135, "personality"),))
        self.assertEqual(group.outcome.clauses[0].conditions[0].ranges, ((8, 8),))
        self.assertEqual(str(group.outcome), "ALLOW if args[0] == 8; otherwise ERRNO(EPERM)")
        row = {"arch": "x86_64", "call": "personality", "nr": 135, "outcome": str(group.outcome)}
        self.assertEqual(explanation.rows(), [row])
        self.assertEqual(str(explanation), f"x86_64: {group.outcome}\n  personality")
        self.assertEqual(callgate.explain(SMALL, 135, **HERE), explanation)

    def test_simulate(self):
        read = callgate.compile(SMALL, **HERE).simulate("read")
        self.assertEqual((read.verdict, read.permitted, read.constant_allow, read.nr), ("ALLOW", True, True, 0))
        self.assertGreater(read.executed, 1)
        self.assertTrue(callgate.simulate(SMALL, "personality", 8, **HERE).permitted)
        self.assertFalse(callgate.simulate(SMALL, "personality", "9", **HERE).permitted)
        far = callgate.simulate(SMALL, 9999, -1, 2**64 - 1, "O_RDWR|O_CLOEXEC", instruction_pointer=2**63, **HERE)
        self.assertEqual((far.call, far.args[:3]), (None, (2**64 - 1, 2**64 - 1, 0o2000002)))
        self.assertEqual(far.instruction_pointer, 2**63)
        self.assertEqual(callgate.simulate(SMALL, "read", arch="x86", **HERE).arch, "x86")

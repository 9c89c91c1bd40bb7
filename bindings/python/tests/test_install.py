"""Filters in the kernel: each test installs them in a process of its own, because a filter cannot be removed."""

import dataclasses
import errno
import os
import pickle
import subprocess
import sys
import textwrap
import unittest

import callgate

from .profiles import HERE, SMALL

PREFIX = """
import ctypes, errno, os, threading
import callgate
from tests.profiles import DENY_GETPPID
libc = ctypes.CDLL(None, use_errno=True)
def getppid():
    ctypes.set_errno(0)
    libc.syscall(NUMBER)
    return ctypes.get_errno()
NUMBER = callgate.simulate(DENY_GETPPID, "getppid").nr
program = callgate.compile(DENY_GETPPID)
def in_thread(function):
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]
"""


@unittest.skipUnless(sys.platform == "linux", "seccomp exists only on Linux")
class Install(unittest.TestCase):
    def run_child(self, code):
        done = subprocess.run(
            [sys.executable, "-c", PREFIX + textwrap.dedent(code)], capture_output=True, text=True, timeout=120
        )
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def test_all_threads_have_the_filter(self):
        self.run_child("""
            ready, go, results = threading.Barrier(3), threading.Event(), []
            def work():
                ready.wait()
                go.wait()
                results.append(getppid())
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads: thread.start()
            ready.wait()
            program.install(log=False)
            go.set()
            for thread in threads: thread.join()
            assert results == [18, 18], results
            assert getppid() == 18
            status = open("/proc/self/status").read()
            assert "NoNewPrivs:\\t1" in status and "Seccomp:\\t2" in status, status
        """)

    def test_a_filter_that_notifies_needs_a_listener(self):
        self.run_child("""
            profile = '{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}'
            try:
                callgate.compile(profile).install()
                raise SystemExit("installed")
            except callgate.InstallError as error:
                assert "help: give `new_listener=True`" in str(error), error
                assert (error.errno, error.syscall, error.thread) == (errno.ENOTSUP, None, None), vars(error)
            assert getppid() == 0
            assert "NoNewPrivs:\\t0" in open("/proc/self/status").read()
        """)

    def test_a_listener_answers(self):
        self.run_child("""
            profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}
            ready, installed, results = threading.Event(), [], []
            def work():
                installed.append(callgate.install(profile, tsync=False, new_listener=True, wait_killable=True))
                ready.set()
                results.append(libc.syscall(NUMBER, 1, 2, 3))
                results.append(getppid())
                results.append(libc.syscall(NUMBER))
            thread = threading.Thread(target=work)
            thread.start()
            ready.wait()
            (listener,) = installed
            first = listener.receive(timeout=60)
            assert (first.call, first.nr, first.pid) == ("getppid", NUMBER, thread.native_id), first
            assert first.args[:3] == [1, 2, 3] and first.arch == callgate.compile(profile).arches[0], first
            assert "getppid(0x1, 0x2, 0x3" in repr(first), first
            assert first.is_waiting()
            first.succeed(4711)
            assert not first.is_waiting()
            try:
                first.succeed(1)
                raise AssertionError("answered twice")
            except OSError:
                pass
            second = listener.receive()
            try:
                second.fail(60000)
                raise AssertionError("60000 is no error number")
            except ValueError as error:
                assert "60000" in str(error), error
            second.fail(18)
            for notification in listener:
                notification.continue_syscall()
            thread.join()
            assert results == [4711, 18, os.getppid()], results
            listener.close()
            try:
                listener.receive()
                raise AssertionError("closed")
            except ValueError:
                pass
        """)

    def test_a_closed_listener_answers_nothing(self):
        self.run_child("""
            profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}
            ready, installed, results = threading.Event(), [], []
            def work():
                installed.append(callgate.install(profile, tsync=False, new_listener=True))
                ready.set()
                results.append(getppid())
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            ready.wait()
            (listener,) = installed
            received = listener.receive(timeout=60)
            listener.close()
            thread.join(20)
            assert results == [errno.ENOSYS], results
            for use in [received.is_waiting, received.succeed, received.continue_syscall, lambda: received.fail(1)]:
                try:
                    use()
                    raise AssertionError("the listener is closed")
                except ValueError as error:
                    assert "closed" in str(error), error
        """)

    def test_an_answer_for_a_process_that_was_killed_is_an_error(self):
        self.run_child("""
            import signal, socket
            profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}
            ours, theirs = socket.socketpair()
            pid = os.fork()
            if pid == 0:
                listener = callgate.install(profile, new_listener=True)
                socket.send_fds(theirs, [b"listener"], [listener.fileno()])
                getppid()
                os._exit(1)
            with callgate.Listener(socket.recv_fds(ours, 16, 1)[1][0]) as listener:
                received = listener.receive(timeout=60)
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                assert not received.is_waiting()
                try:
                    received.succeed()
                    raise AssertionError("nobody waits for the answer")
                except FileNotFoundError:
                    pass
        """)

    def test_a_listener_waits_for_at_most_its_timeout(self):
        self.run_child("""
            profile = {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": "SCMP_ACT_NOTIFY"}]}
            with callgate.install(profile, new_listener=True) as listener:
                try:
                    listener.receive(timeout=0.01)
                    raise AssertionError("no syscall was made")
                except TimeoutError:
                    pass
        """)

    def test_a_listener_for_a_filter_that_notifies_nobody_is_an_error(self):
        self.run_child("""
            try:
                program.install(new_listener=True)
                raise AssertionError("installed")
            except callgate.InstallError as error:
                assert (error.errno, error.syscall) == (errno.EINVAL, None) and "omit `new_listener`" in error.help, error
        """)

    @unittest.skipUnless(sys.platform == "linux" and os.geteuid() == 0, "needs CAP_SYS_ADMIN")
    def test_no_new_privs_may_stay_unset(self):
        self.run_child("""
            callgate.install(DENY_GETPPID, no_new_privs=False)
            assert getppid() == 18
            assert "NoNewPrivs:\\t0" in open("/proc/self/status").read()
            # Without the capability, the kernel refuses.
            os.setuid(65534)
            try:
                program.install(no_new_privs=False)
                raise AssertionError("installed")
            except callgate.InstallError as error:
                assert (error.errno, error.syscall) == (13, "seccomp"), vars(error)
                assert "no_new_privs" in error.help, error
            program.install()
        """)

    def test_one_thread_has_the_filter(self):
        self.run_child("""
            def work():
                program.install(tsync=False)
                return getppid()
            assert in_thread(work) == 18
            assert getppid() == 0
        """)

    def test_an_option_wins_over_the_flags_of_the_source(self):
        self.run_child("""
            import dataclasses
            program = dataclasses.replace(program, flags=("SECCOMP_FILTER_FLAG_TSYNC", "SECCOMP_FILTER_FLAG_LOG"))
            def work():
                program.install(tsync=False)
                return getppid()
            assert in_thread(work) == 18
            assert getppid() == 0
        """)

    def test_a_thread_with_another_filter_is_an_error(self):
        self.run_child("""
            done = threading.Event()
            installed = threading.Event()
            def work():
                program.install(tsync=False)
                installed.set()
                done.wait()
            thread = threading.Thread(target=work)
            thread.start()
            installed.wait()
            try:
                program.install()
            except callgate.InstallError as error:
                assert f"thread {thread.native_id} of this process has a filter of its own" in str(error), error
                assert "help: install the filter before starting threads, or give `tsync=False`" in str(error), error
                assert (error.errno, error.syscall, error.thread) == (3, "seccomp", thread.native_id), vars(error)
            else:
                raise AssertionError("no error")
            finally:
                done.set()
            assert getppid() == 0
        """)

    def test_an_instance_of_a_template_is_installed(self):
        self.run_child(
            """
            template = callgate.compile_template("ERRNO(18) { dup2 { newfd == $fd } } DEFAULT ALLOW")
            template.instantiate(fd=77).install()
            try:
                os.dup2(1, 77)
            except OSError as error:
                assert error.errno == 18, error
            else:
                raise AssertionError("no error")
            os.dup2(1, 78)
        """
            if "x86" in callgate.compile(SMALL, kernel="6.12").arches[0]
            else ""
        )

    def test_filters_are_compiled_after_one_was_installed(self):
        self.run_child("""
            program.install()
            assert callgate.compile(DENY_GETPPID) == program
        """)

    def test_a_program_is_proved_while_it_has_the_instructions_of_an_answer(self):
        kept = dataclasses.replace(self.program(), flags=("SECCOMP_FILTER_FLAG_LOG",), name="other")
        changed = dataclasses.replace(kept, insns=(*kept.insns[:-1], kept.insns[-1]._replace(k=0x7FFF0000)))
        self.assertTrue(kept.proved)
        self.assertFalse(changed.proved)
        self.assertTrue(dataclasses.replace(changed, insns=kept.insns).proved)
        fields = ("insns", "name", "arches", "endian", "flags", "filtered_insns", "expected_insns", "constant_allow", "nodes")
        by_hand = callgate.Program(**{name: getattr(kept, name) for name in fields})
        self.assertFalse(by_hand.proved)
        same = callgate.optimize(list(kept.insns))
        self.assertTrue(same.reason)
        template = callgate.compile_template("ERRNO(1) { dup { fildes != $fd } } DEFAULT ALLOW")
        for proved in (kept, template.instantiate(fd=3), callgate.merge([kept, kept])):
            again = pickle.loads(pickle.dumps(proved))
            self.assertEqual((again, again.proved), (proved, True))
        for unproved in (changed, by_hand, same):
            self.assertFalse(pickle.loads(pickle.dumps(unproved)).proved)
            for new_listener in (False, True):
                with self.assertRaisesRegex(callgate.InstallError, "proved\\b.*\n.*install_unproved") as caught:
                    unproved.install(new_listener=new_listener)
                self.assertEqual((caught.exception.errno, caught.exception.syscall), (errno.EINVAL, None))

    def program(self):
        return callgate.compile("ERRNO(18) { getppid } DEFAULT ALLOW")

    def test_what_is_unproved_is_installed_only_by_its_name(self):
        self.run_child("""
            import dataclasses
            denied = [insn._replace(k=0x50001) if insn.k == 0x50012 else insn for insn in program.insns]
            changed = dataclasses.replace(program, insns=tuple(denied))
            try:
                changed.install()
            except callgate.InstallError as error:
                assert "changed after they were proved" in str(error), error
            else:
                raise AssertionError("installed")
            assert getppid() == 0
            assert "NoNewPrivs:\\t0" in open("/proc/self/status").read()
            changed.install_unproved(log=False)
            assert getppid() == 1
        """)
        self.assertRaises(TypeError, self.program().install_unproved, sync=False)

    def test_a_filter_for_another_machine_is_an_error(self):
        foreign = callgate.compile(SMALL, machine="s390x" if sys.byteorder == "little" else "x86_64", kernel="6.12")
        with self.assertRaisesRegex(callgate.InstallError, "this process is for") as caught:
            foreign.install()
        self.assertEqual((caught.exception.errno, caught.exception.syscall), (errno.EINVAL, None))
        self.assertEqual(pickle.loads(pickle.dumps(caught.exception)).help, caught.exception.help)

    def test_a_filter_that_needs_a_listener_is_an_error(self):
        text = SMALL.replace('"syscalls"', '"flags": ["SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"], "syscalls"')
        program = callgate.compile(text, format="runc", **HERE)
        program = dataclasses.replace(program, arches=callgate.compile(SMALL).arches)
        self.assertRaisesRegex(callgate.InstallError, "needs a listener", program.install)
        self.run_child("""
            import dataclasses
            program = dataclasses.replace(program, flags=("SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV",))
            program.install(wait_killable=False)
            assert getppid() == 18
        """)
        self.assertRaises(TypeError, program.install, False)
        self.assertRaises(TypeError, program.install, sync=False)
        self.assertRaises(TypeError, callgate.install, SMALL, sync=False)

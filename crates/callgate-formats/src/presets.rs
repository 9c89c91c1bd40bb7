//! Presets: small filters for one purpose, which restrict other filters.
//!
//! All but `pure-compute` deny some syscalls and allow the others, so they are used on top of another filter (`A ^ preset:NAME`). Each is for
//! all ABIs of a machine, and for `socketcall` and `ipc` where they reach the same code. Where io_uring would do what a
//! preset denies, the preset denies io_uring: filters do not see its operations.
//!
//! | preset | denies |
//! |---|---|
//! | `no-io-uring` | `io_uring_setup`, `io_uring_enter`, `io_uring_register` |
//! | `no-new-network` | sockets of all families but AF_UNIX; existing and inherited sockets work |
//! | `no-unix-sockets` | sockets and pairs of sockets of the family AF_UNIX |
//! | `no-sockets` | all new sockets, pairs included |
//! | `no-namespaces` | new namespaces, and entering others |
//! | `no-ptrace` | access to other processes: memory, registers, descriptors |
//! | `no-new-processes` | child processes; threads can be created |
//! | `pure-compute` | everything but computing with memory, threads and open descriptors. A program that runs under it cannot execute another one, so `callgate run` cannot install it |

use crate::lxc::compat_arches;
use crate::oci::{Dialect, ReadOptions, read};
use crate::profile::Profile;
use crate::ruleset::{Comparison, Op, RuleSet, sections};
use callgate_bpf::constants;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_core::policy::Policy;
use callgate_core::{Arch, Verdict};

/// The names of all presets.
pub const PRESETS: [&str; 8] = [
    "no-io-uring",
    "no-new-network",
    "no-unix-sockets",
    "no-sockets",
    "no-namespaces",
    "no-ptrace",
    "no-new-processes",
    "pure-compute",
];

/// A preset for a machine: for this architecture and the other ABIs of its kernels. `None` for an unknown name.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::preset;
///
/// let policy = preset("no-io-uring", &[Arch::X86_64]).ok_or("unknown")?;
/// let setup = SeccompData { nr: 425, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(policy.evaluate(&setup), Verdict::errno(1));
/// assert!(preset("no-such-preset", &[Arch::X86_64]).is_none());
/// # Ok::<(), &str>(())
/// ```
pub fn preset(name: &str, arches: &[Arch]) -> Option<Policy> {
    let is_list = name == "pure-compute";
    let other = if is_list { DENIED } else { Verdict::ALLOW };
    let sets = arches.iter().map(|arch| {
        let mut rules = Rules(RuleSet::new(*arch));
        rules.preset(name)?;
        Some(rules.0)
    });
    let sets: Vec<RuleSet<()>> = sets.collect::<Option<_>>()?;
    Policy::new(sections(&sets, other, Verdict::KILL_PROCESS), Verdict::KILL_PROCESS).ok()
}

/// An architecture and the other ABIs of its kernels.
pub fn abis(native: Arch) -> Vec<Arch> {
    let others = match native {
        Arch::S390x => &[Arch::S390],
        other => compat_arches(other),
    };
    std::iter::once(native).chain(others.iter().copied()).collect()
}

/// EPERM, which has the same number on all architectures, and which runtimes of containers use.
const DENIED: Verdict = Verdict::errno(1);

const IO_URING: [&str; 3] = ["io_uring_setup", "io_uring_enter", "io_uring_register"];

/// The flags of `clone` and `unshare` for new namespaces; CLONE_NEWTIME is one of `unshare` only.
const NEW_NAMESPACES: [&str; 7] = [
    "CLONE_NEWNS",
    "CLONE_NEWCGROUP",
    "CLONE_NEWUTS",
    "CLONE_NEWIPC",
    "CLONE_NEWUSER",
    "CLONE_NEWPID",
    "CLONE_NEWNET",
];

/// What `pure-compute` allows.
const COMPUTE: [&str; 67] = [
    "arch_prctl",
    "brk",
    "clock_getres",
    "clock_getres_time64",
    "clock_gettime",
    "clock_gettime64",
    "clock_nanosleep",
    "clock_nanosleep_time64",
    "close",
    "dup",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "exit",
    "exit_group",
    "fdatasync",
    "fstat",
    "fstat64",
    "fsync",
    "futex",
    "futex_time64",
    "get_robust_list",
    "getcpu",
    "getpid",
    "getrandom",
    "getrusage",
    "gettid",
    "gettimeofday",
    "_llseek",
    "lseek",
    "madvise",
    "membarrier",
    "mmap",
    "mmap2",
    "mprotect",
    "mremap",
    "munmap",
    "nanosleep",
    "pause",
    "poll",
    "ppoll",
    "ppoll_time64",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readv",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "sigaltstack",
    "sigprocmask",
    "sigreturn",
    "tgkill",
    "time",
    "write",
    "writev",
];

/// The rules for one architecture.
struct Rules(RuleSet<()>);

impl Rules {
    fn preset(&mut self, name: &str) -> Option<()> {
        match name {
            "no-io-uring" => self.deny(&IO_URING),
            "no-new-network" => {
                self.deny(&IO_URING);
                self.deny_if("socket", 0, Op::Ne, self.constant("AF_UNIX")?);
            }
            "no-unix-sockets" => {
                self.deny(&IO_URING);
                // An int: the kernel ignores the upper half.
                let unix = self.constant("AF_UNIX")?;
                self.deny_if("socket", 0, Op::MaskedEq(0xffff_ffff), unix);
                self.deny_if("socketpair", 0, Op::MaskedEq(0xffff_ffff), unix);
            }
            "no-sockets" => {
                self.deny(&IO_URING);
                self.deny(&["socket", "socketpair"]);
            }
            "no-namespaces" => {
                self.deny(&["setns"]);
                for name in NEW_NAMESPACES {
                    let flag = self.constant(name)?;
                    self.deny_if("clone", self.clone_flags(), Op::MaskedEq(flag), flag);
                    self.deny_if("unshare", 0, Op::MaskedEq(flag), flag);
                }
                let time = self.constant("CLONE_NEWTIME")?;
                self.deny_if("unshare", 0, Op::MaskedEq(time), time);
                self.without_clone3();
            }
            "no-ptrace" => self.deny(&[
                "ptrace",
                "process_vm_readv",
                "process_vm_writev",
                "process_madvise",
                "pidfd_getfd",
                "kcmp",
            ]),
            "no-new-processes" => {
                self.deny(&["fork", "vfork"]);
                let thread = self.constant("CLONE_THREAD")?;
                self.deny_if("clone", self.clone_flags(), Op::MaskedEq(thread), 0);
                self.without_clone3();
            }
            "pure-compute" => self.add(&COMPUTE, Verdict::ALLOW),
            _ => return None,
        }
        Some(())
    }

    fn add(&mut self, names: &[&str], verdict: Verdict) {
        for name in names {
            self.0.add_syscall_if_known(name, &[], verdict, ());
        }
    }

    fn deny(&mut self, names: &[&str]) {
        self.add(names, DENIED);
    }

    fn constant(&self, name: &str) -> Option<u64> {
        constants::value(self.0.arch(), name)
    }

    fn deny_if(&mut self, name: &str, arg: u8, op: Op, value: u64) {
        let test: Vec<Comparison> = Comparison::new(arg, op, value).into_iter().collect();
        self.0.add_syscall_if_known(name, &test, DENIED, ());
    }

    /// The flags of `clone3` are behind a pointer. C libraries use `clone` if it does not exist.
    fn without_clone3(&mut self) {
        let enosys = self.0.arch().enosys();
        self.add(&["clone3"], Verdict::errno(enosys));
    }

    /// The argument of `clone` with the flags: CONFIG_CLONE_BACKWARDS2 swaps the first two.
    fn clone_flags(&self) -> u8 {
        u8::from(matches!(self.0.arch(), Arch::S390 | Arch::S390x))
    }
}

/// The text of the project's own profile, in Docker's format.
pub const CONTAINER_DEFAULT: &str = include_str!("../profiles/container-default.json");

/// Reads the project's own profile, `container-default`, in Docker's dialect.
///
/// It allows what containers with shells, package managers, databases, language runtimes and servers need, and
/// what each capability adds. Its text names every syscall up to Linux 6.18, and gives reasons in comments.
///
/// # Errors
/// As [`oci::read`](crate::oci::read()). The text is valid, so the only error is a combination of architectures that no kernel runs.
pub fn container_default(options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let options = ReadOptions { dialect: Some(Dialect::Docker), ..options.clone() };
    read(CONTAINER_DEFAULT, &options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::SyscallTable;
    use callgate_bpf::syscalls::is_known_name;
    use callgate_core::SeccompData;

    const ENOSYS: Verdict = Verdict::errno(38);

    #[track_caller]
    fn verdict(name: &str, arch: Arch, call: &str, args: [u64; 2]) -> Verdict {
        let policy = preset(name, &abis(Arch::X86_64)).unwrap();
        let policy = if policy.arches().any(|own| own == arch) {
            policy
        } else {
            preset(name, &[arch]).unwrap()
        };
        let [a, b] = args;
        policy.evaluate(&SeccompData {
            nr: arch.number(call).unwrap(),
            arch: arch.token(),
            args: [a, b, 0, 0, 0, 0],
            ..SeccompData::default()
        })
    }

    #[test]
    fn every_preset_exists_on_every_architecture() {
        for arch in Arch::ALL {
            for name in PRESETS {
                assert!(preset(name, &[*arch]).is_some(), "{name} {arch}");
            }
        }
        assert!(COMPUTE.iter().all(|name| is_known_name(name)));
    }

    #[test]
    fn sockets_are_denied_by_family_on_all_abis() {
        for arch in [Arch::X86_64, Arch::X32, Arch::X86] {
            for (call, family, network, unix) in [
                ("socket", 1, Verdict::ALLOW, DENIED),
                ("socket", 2, DENIED, Verdict::ALLOW),
                (
                    "socket",
                    1 << 32 | 1,
                    if arch == Arch::X86_64 { DENIED } else { Verdict::ALLOW },
                    DENIED,
                ),
                ("socketpair", 1, Verdict::ALLOW, DENIED),
                ("io_uring_setup", 1, DENIED, DENIED),
                ("connect", 3, Verdict::ALLOW, Verdict::ALLOW),
            ] {
                let given = [family, 0];
                assert_eq!(verdict("no-new-network", arch, call, given), network, "{arch} {call}");
                assert_eq!(verdict("no-unix-sockets", arch, call, given), unix, "{arch} {call}");
            }
            assert_eq!(verdict("no-sockets", arch, "socket", [2, 0]), DENIED);
        }
        for name in ["no-new-network", "no-unix-sockets", "no-sockets"] {
            assert_eq!(verdict(name, Arch::X86, "socketcall", [1, 0]), DENIED, "{name}");
            assert_eq!(verdict(name, Arch::X86, "socketcall", [3, 0]), Verdict::ALLOW);
        }
        assert_eq!(verdict("no-unix-sockets", Arch::X86, "socketcall", [8, 0]), DENIED);
    }

    #[test]
    fn processes_and_namespaces_depend_on_flags() {
        let thread = 0x1_0000 | 0x100;
        for arch in [Arch::X86_64, Arch::X32, Arch::X86, Arch::Aarch64] {
            let of = |name, call, flags| verdict(name, arch, call, [flags, 0]);
            assert_eq!(of("no-new-processes", "clone", thread), Verdict::ALLOW);
            assert_eq!(of("no-new-processes", "clone", 17), DENIED);
            assert_eq!(of("no-namespaces", "clone", 17), Verdict::ALLOW);
            for flag in [
                0x2_0000,
                0x200_0000,
                0x400_0000,
                0x800_0000,
                0x1000_0000,
                0x2000_0000,
                0x4000_0000,
            ] {
                assert_eq!(of("no-namespaces", "clone", flag | 17), DENIED);
                assert_eq!(of("no-namespaces", "unshare", flag), DENIED);
            }
            assert_eq!(of("no-namespaces", "unshare", 0x80), DENIED);
            assert_eq!(of("no-namespaces", "unshare", 0x400), Verdict::ALLOW);
            assert_eq!(of("no-namespaces", "clone3", 0), ENOSYS);
        }
        let s390x = |args| verdict("no-new-processes", Arch::S390x, "clone", args);
        assert_eq!((s390x([0, thread]), s390x([thread, 0])), (Verdict::ALLOW, DENIED));
        assert_eq!(verdict("no-new-processes", Arch::Mips64, "clone3", [0, 0]), Verdict::errno(89));
    }

    #[test]
    fn pure_compute_is_a_list() {
        assert_eq!(verdict("pure-compute", Arch::X86_64, "read", [0, 0]), Verdict::ALLOW);
        for call in ["open", "execve", "clone", "ioctl", "kill"] {
            assert_eq!(verdict("pure-compute", Arch::X86_64, call, [0, 0]), DENIED, "{call}");
        }
    }
}

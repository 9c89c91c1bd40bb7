//! Which language runtimes a recording shows.
//!
//! Runtimes are told by what each of them does when it starts, because that is in every recording that begins with the
//! `execve` of a program, of every method, and also in logs of other tools. The names of recorded commands and
//! executables are further evidence, but programs are also started by scripts, and copied. A test may take a program for one of another
//! runtime, which grants it a few syscalls more; it does not miss a runtime in a complete recording. Where the values of an
//! argument are not known, each may have occurred.
//!
//! | runtime | what it does at its start |
//! |---|---|
//! | Go | threads by `clone` with flags that no C library uses (`newosproc`); with cgo: reads the action of all signals (`initsig`), sets a stack for signals (`minitSignalStack`), counts the processors (`getCPUCount`) |
//! | the Java virtual machine | maps memory that is writable and executable (the code cache), names its threads, counts the processors |
//! | Node.js | makes memory executable (V8), creates an epoll instance and an eventfd (libuv), starts threads |
//! | Python | reads the action of all signals (`signal_get_set_handlers`), lists directories (`FileFinder`), seeks in files; asks for its thread (`PyThread_get_thread_native_id`) or for 24 random bytes (`_Py_HashRandomization_Init`). Git also sets the action of all signals |

use super::LanguageRuntime;
use crate::recording::{ArgValues, Caveat, Recording, Run};
use callgate_core::Arch;

/// The runtimes in a recording, in the order of [`LanguageRuntime::ALL`]. The C library is always one of them.
pub(in crate::generate) fn detect(recording: &Recording) -> Vec<LanguageRuntime> {
    let seen = Seen { recording };
    let is_used = |runtime: &LanguageRuntime| seen.shows(*runtime) || is_named(recording, *runtime);
    LanguageRuntime::ALL.into_iter().filter(is_used).collect()
}

/// Whether a command or an executable has a name of the runtime.
fn is_named(recording: &Recording, runtime: LanguageRuntime) -> bool {
    let of_run = |run: &Run| {
        let executable = run.labels.get("executable").map(|path| file_name(path));
        run.program().into_iter().chain(executable).any(|name| is_name_of(name, runtime))
    };
    recording.runs().iter().any(of_run)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_name_of(name: &str, runtime: LanguageRuntime) -> bool {
    match runtime {
        LanguageRuntime::CLibrary | LanguageRuntime::Start | LanguageRuntime::Go => false,
        LanguageRuntime::Jvm => {
            matches!(name, "java" | "javac" | "javadoc" | "jar" | "jshell" | "keytool")
        }
        LanguageRuntime::Node => matches!(name, "node" | "nodejs" | "npm" | "npx"),
        LanguageRuntime::Python => {
            let version = name.strip_prefix("python");
            version.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
        }
    }
}

/// SIGRTMAX, the last signal.
const LAST_SIGNAL: u64 = 64;
/// PROT_WRITE, PROT_EXEC.
const WRITE: u64 = 2;
const EXEC: u64 = 4;
/// PR_SET_NAME.
const THREAD_NAME: u64 = 15;
/// CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD, CLONE_SYSVSEM (`os_linux.go`, `cloneFlags`). Threads of C
/// libraries also have CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID.
const GO_THREAD: u64 = 0x5_0f00;
/// CLONE_SETTLS, which Go sets on some architectures.
const SET_TLS: u64 = 0x8_0000;

/// The bytes of `_Py_HashSecret_t` (`bootstrap_hash.c`).
const HASH_SECRET: u64 = 24;

/// What was recorded.
struct Seen<'r> {
    recording: &'r Recording,
}

impl Seen<'_> {
    fn shows(&self, runtime: LanguageRuntime) -> bool {
        let starts_threads = self.made("clone") || self.made("clone3");
        match runtime {
            LanguageRuntime::CLibrary => true,
            LanguageRuntime::Start => self.lacks_starts(),
            LanguageRuntime::Go => {
                self.started_threads(|flags| flags & !SET_TLS == GO_THREAD)
                    || starts_threads
                        && self.read_all_signals()
                        && self.made("sigaltstack")
                        && self.made("sched_getaffinity")
            }
            LanguageRuntime::Jvm => {
                starts_threads
                    && self.has_bits("mmap", WRITE | EXEC)
                    && self.had("prctl", 0, |option| option == THREAD_NAME)
                    && self.made("sched_getaffinity")
            }
            LanguageRuntime::Node => {
                starts_threads
                    && (self.has_bits("mprotect", EXEC) || self.has_bits("pkey_mprotect", EXEC))
                    && self.made("epoll_create1")
                    && (self.made("eventfd2") || self.made("pipe2"))
            }
            LanguageRuntime::Python => {
                self.read_all_signals()
                    && self.made("getdents64")
                    && self.made("lseek")
                    && (self.made("gettid") || self.had("getrandom", 1, |size| size == HASH_SECRET))
            }
        }
    }

    /// Whether only processes were recorded that ran already.
    fn lacks_starts(&self) -> bool {
        let is_attached =
            |run: &Run| run.caveats.iter().any(|caveat| caveat.id == Caveat::ATTACHED);
        !self.recording.runs().is_empty() && self.recording.runs().iter().all(is_attached)
    }

    /// Whether `sigaction` was called for signals up to the last one, and for at least half of all.
    fn read_all_signals(&self) -> bool {
        self.may("rt_sigaction", 0, |values| match (values.all(), values.bounds()) {
            (Some(all), _) => all.contains(&LAST_SIGNAL) && all.len() > 30,
            (None, bounds) => bounds.is_none_or(|bounds| bounds.max >= LAST_SIGNAL),
        })
    }

    fn made(&self, name: &str) -> bool {
        self.recording.syscalls().any(|(syscall, _)| syscall.name() == Some(name))
    }

    /// Whether the values of an argument meet a test on an architecture, or are not all known.
    fn may(&self, name: &str, arg: usize, test: impl Fn(&ArgValues) -> bool) -> bool {
        let mut named = self.recording.syscalls().filter(|(id, _)| id.name() == Some(name));
        named.any(|(_, stats)| !stats.is_known(arg) || stats.args().get(arg).is_some_and(&test))
    }

    /// Whether an argument had a value, or may have had it.
    fn had(&self, name: &str, arg: usize, wanted: impl Fn(u64) -> bool) -> bool {
        self.may(name, arg, |values| match values.all() {
            Some(all) => all.iter().any(|value| wanted(*value)),
            None => true,
        })
    }

    /// Whether `clone` had these flags, or may have had them: the first argument, or the second one on s390.
    fn started_threads(&self, wanted: impl Fn(u64) -> bool) -> bool {
        let is_swapped = |arch: Arch| matches!(arch, Arch::S390 | Arch::S390x);
        let arg = usize::from(self.recording.syscalls().any(|(id, _)| is_swapped(id.arch)));
        self.had("clone", arg, wanted)
    }

    /// Whether the third argument had all of these bits, or may have had them.
    fn has_bits(&self, name: &str, bits: u64) -> bool {
        self.may(name, 2, |values| match (values.all(), values.bounds()) {
            (Some(all), _) => all.iter().any(|value| value & bits == bits),
            (None, bounds) => bounds.is_none_or(|bounds| bounds.ever & bits == bits),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::SyscallId;
    use callgate_bpf::SyscallTable;

    fn recording(calls: &[(&str, &[u64])]) -> Recording {
        let mut recording = Recording::of(Run::default());
        for (name, args) in calls {
            let mut all = [0; 6];
            all.iter_mut().zip(*args).for_each(|(to, from)| *to = *from);
            let nr = Arch::X86_64.number(name).unwrap();
            recording.observe(SyscallId::new(Arch::X86_64, nr), &all);
        }
        recording
    }

    /// A recording of `clone` whose other arguments are not known.
    fn only_flags(flags: u64) -> Recording {
        let mut recording = Recording::of(Run::default());
        let clone = SyscallId::new(Arch::X86_64, Arch::X86_64.number("clone").unwrap());
        recording.add(clone, 1, [ArgValues::from_values(1, [flags])]);
        recording
    }

    fn with_all_signals(calls: &[(&str, &[u64])]) -> Recording {
        let mut recording = recording(calls);
        let sigaction = Arch::X86_64.number("rt_sigaction").unwrap();
        for signal in (1..=64).filter(|signal| !(32..35).contains(signal)) {
            recording.observe(SyscallId::new(Arch::X86_64, sigaction), &[signal, 0, 0, 8, 0, 0]);
        }
        recording
    }

    /// What strace shows of hello-world programs.
    #[test]
    fn runtimes_are_told_by_their_start() {
        use LanguageRuntime::{CLibrary, Go, Jvm, Node, Python};
        let thread: (&str, &[u64]) = ("clone3", &[0x7fff_0000, 88]);
        let cases = [
            (recording(&[("read", &[]), ("clone", &[0x3d_0f00])]), vec![CLibrary]),
            (only_flags(0x3d_0f00), vec![CLibrary]),
            (only_flags(0xd_0f00), vec![CLibrary, Go]),
            // Go 1.26 without cgo on x86-64, and on aarch64.
            (recording(&[("clone", &[0xd_0f00])]), vec![CLibrary, Go]),
            (recording(&[("clone", &[0x5_0f00])]), vec![CLibrary, Go]),
            (
                with_all_signals(&[thread, ("sigaltstack", &[]), ("sched_getaffinity", &[])]),
                vec![CLibrary, Go],
            ),
            (
                recording(&[
                    thread,
                    ("mmap", &[0, 0x1000, 7]),
                    ("prctl", &[15]),
                    ("sched_getaffinity", &[]),
                ]),
                vec![CLibrary, Jvm],
            ),
            (
                recording(&[
                    thread,
                    ("mprotect", &[0, 0x1000, 5]),
                    ("epoll_create1", &[]),
                    ("eventfd2", &[]),
                ]),
                vec![CLibrary, Node],
            ),
            (
                with_all_signals(&[
                    ("getdents64", &[]),
                    ("lseek", &[]),
                    ("getrandom", &[0, 24, 1]),
                ]),
                vec![CLibrary, Python],
            ),
            // Git.
            (with_all_signals(&[("getdents64", &[]), ("lseek", &[])]), vec![CLibrary]),
        ];
        for (recording, expected) in cases {
            assert_eq!(detect(&recording), expected);
        }
    }

    #[test]
    fn names_are_evidence_too() {
        for (path, expected) in [
            ("/usr/bin/python3.13", Some(LanguageRuntime::Python)),
            ("python", Some(LanguageRuntime::Python)),
            ("node", Some(LanguageRuntime::Node)),
            ("/opt/jdk/bin/java", Some(LanguageRuntime::Jvm)),
            ("/usr/bin/pythonize", None),
            ("nodes", None),
        ] {
            let run = Run { command: vec![path.to_owned()], ..Run::default() };
            let found = detect(&Recording::of(run));
            assert_eq!(found.get(1).copied(), expected, "{path}");
            let labels = [("executable".to_owned(), path.to_owned())].into();
            let run = Run { labels, ..Run::default() };
            assert_eq!(detect(&Recording::of(run)).get(1).copied(), expected, "{path}");
        }
    }

    #[test]
    fn values_that_are_not_known_may_be_those_of_a_runtime() {
        let mut counts = Recording::of(Run::default());
        for name in ["clone", "read"] {
            counts.count(SyscallId::new(Arch::X86_64, Arch::X86_64.number(name).unwrap()), 3);
        }
        assert_eq!(detect(&counts), [LanguageRuntime::CLibrary, LanguageRuntime::Go]);
    }
}

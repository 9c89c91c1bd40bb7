//! Which arguments a measured syscall may have.
//!
//! A syscall with chosen arguments is executed thousands of times in a process without a filter, so it must neither block
//! nor have an effect outside of that process, and must not break that process. The process has no open descriptor and
//! cannot open one (`RLIMIT_NOFILE` is 0), so any descriptor is a closed one. The other rules are per syscall:
//!
//! - A syscall of a descriptor may have any arguments, because the kernel looks the descriptor up first (but
//!   `io_uring_register` does not if the descriptor is -1).
//! - A path must be empty or an address that is never mapped; `AT_EMPTY_PATH` with `AT_FDCWD` would mean the current
//!   directory and is refused.
//! - Another pointer must be an address that is never mapped: below 4096 or, on 64-bit machines, in the kernel's half.
//! - Syscalls on processes, memory mappings, namespaces and credentials have the conditions of [`special`], or only the
//!   arguments of the table.
//!
//! Source: `SYSCALL_DEFINE` of each syscall, Linux 4.14 to 6.12.

use std::fmt;

use callgate_bpf::syscalls::facts;

/// Above the maximum process ID of Linux (PID_MAX_LIMIT), which is 4,194,304.
const LAST_PROCESS: i32 = 4 << 20;

/// Why a syscall is not measured with these arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsafeArguments {
    syscall: &'static str,
    args: [u64; 6],
    why: Why,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Pointer(usize),
    Path(usize),
    Descriptor(usize),
    EmptyPath,
    Poll,
    Other(&'static str),
}

impl fmt::Display for UnsafeArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not measured with these arguments: ", self.syscall)?;
        if let (Some(slot), Some(value)) =
            (self.slot(), self.slot().and_then(|slot| self.args.get(slot)))
        {
            write!(f, "argument {} ({value:#x}) ", slot + 1)?;
        }
        match self.why {
            Why::Pointer(_) => f.write_str("is an address that may be mapped"),
            Why::Path(_) => f.write_str("may be the address of a path"),
            Why::Descriptor(_) => f.write_str("is not a descriptor"),
            Why::Poll => f.write_str("it would wait"),
            Why::EmptyPath => f.write_str("with AT_EMPTY_PATH, AT_FDCWD is the current directory"),
            Why::Other(why) => f.write_str(why),
        }
    }
}

impl UnsafeArguments {
    /// The index of the argument that is the reason, if it is one.
    pub fn slot(&self) -> Option<usize> {
        match self.why {
            Why::Pointer(slot) | Why::Path(slot) | Why::Descriptor(slot) => Some(slot),
            Why::Poll => Some(2),
            Why::EmptyPath | Why::Other(_) => None,
        }
    }

    /// What to do.
    pub fn help(&self) -> &'static str {
        match self.why {
            Why::Pointer(_) => "give 0, or another address below 4096",
            Why::Path(_) => "give \"\" for an empty path, or 0",
            Why::Descriptor(_) => {
                "give -1 or a descriptor from 0 to 2147483647; all of them are closed"
            }
            Why::EmptyPath => "give a descriptor instead, such as 3",
            Why::Poll => "give a timeout of 0",
            Why::Other(_) => {
                "docs/reference/bench.md has the rules; without arguments, those of --list-calls are used"
            }
        }
    }
}

impl std::error::Error for UnsafeArguments {}

/// What decides about the arguments of a syscall.
pub(crate) enum Rule {
    /// A syscall of a descriptor, in this number of first arguments.
    Descriptors(usize),
    /// A syscall of the paths that are empty in the table.
    Paths,
    /// Any numbers.
    Numbers,
    /// A condition.
    Special(fn(&[u64; 6]) -> Result<(), Why>),
    /// Only those of the table.
    Fixed,
}

/// Checks the arguments of a syscall. `usual` are the arguments in the table; `empty` stands for an empty path in it.
pub(crate) fn check(
    name: &'static str,
    usual: &[u64; 6],
    rule: &Rule,
    args: &[u64; 6],
    empty: u64,
) -> Result<(), UnsafeArguments> {
    let mut pointers = pointers(name).filter(|slot| !is_never_mapped(args[*slot]));
    let why = match rule {
        // Some operations of it need no ring (`io_uring_register_blind`).
        Rule::Descriptors(_)
            if name == "io_uring_register" && args[0] as i32 == -1 && args != usual =>
        {
            Some(Why::Other("with the descriptor -1, it does not need a ring; give another one"))
        }
        Rule::Descriptors(count) => {
            (0..*count).find(|slot| !is_descriptor(args[*slot])).map(Why::Descriptor)
        }
        Rule::Paths => {
            let mut paths = (0..6).filter(|slot| usual[*slot] == empty);
            let is_path = |arg: u64| arg != empty && !is_never_mapped(arg);
            let path = paths.find(|slot| is_path(args[*slot])).map(Why::Path);
            path.or_else(|| means_current_directory(name, args).then_some(Why::EmptyPath))
        }
        Rule::Numbers => pointers.next().map(Why::Pointer),
        Rule::Special(condition) => {
            let pointer = pointers.find(|slot| args[*slot] != usual[*slot]);
            pointer.map(Why::Pointer).or_else(|| condition(args).err())
        }
        Rule::Fixed => (args != usual).then_some(Why::Other("with others it has an effect")),
    };
    why.map_or(Ok(()), |why| Err(UnsafeArguments { syscall: name, args: *args, why }))
}

/// The arguments that are pointers.
fn pointers(name: &str) -> impl Iterator<Item = usize> {
    let args = facts(name).map(|facts| facts.args).unwrap_or_default();
    // Two types of pointers have a name (include/uapi/linux/capability.h).
    let is_pointer = |ctype: &str| ctype.contains('*') || ctype.contains("cap_user_");
    let pointers = args.iter().enumerate().filter(move |(_, arg)| is_pointer(arg.ctype));
    pointers.map(|(slot, _)| slot).filter(|slot| *slot < 6)
}

/// Whether an address is never mapped in a process: below the first page, or not of a process.
fn is_never_mapped(address: u64) -> bool {
    let highest = if cfg!(target_pointer_width = "64") { 0xffff_8000_0000_0000 } else { u64::MAX };
    address < 4096 || address >= highest
}

/// A closed descriptor. Other negative numbers are AT_FDCWD, or name the process itself in Linux 6.15 and later.
fn is_descriptor(arg: u64) -> bool {
    arg as i32 >= -1
}

/// Whether the descriptor is AT_FDCWD and an empty path means the current directory.
fn means_current_directory(name: &str, args: &[u64; 6]) -> bool {
    const EMPTY_PATH: u64 = libc::AT_EMPTY_PATH as u64;
    let flags = match name {
        "open_tree" => args[2],
        "newfstatat" | "faccessat2" => args[3],
        "fchownat" | "linkat" | "execveat" => args[4],
        // Its flags are different ones.
        "move_mount" => EMPTY_PATH,
        _ => 0,
    };
    let is_closed = is_descriptor(args[0]) && (name != "move_mount" || is_descriptor(args[2]));
    flags & EMPTY_PATH != 0 && !is_closed
}

/// The condition of a syscall that has neither a descriptor nor a path first.
pub(crate) fn special(name: &str) -> Rule {
    match name {
        "alarm" | "unshare" | "membarrier" | "personality" | "keyctl" | "setuid" | "setgid"
        | "setresuid" | "setresgid" | "setreuid" | "setregid" | "setpriority" | "rt_sigreturn" => {
            Rule::Fixed
        }
        "brk" => Rule::Special(|args| {
            only(is_never_mapped(args[0]), "it would move the end of the heap; give 0")
        }),
        "poll" => Rule::Special(|args| {
            (args[1] as u32 > 0 || args[2] as u32 == 0).then_some(()).ok_or(Why::Poll)
        }),
        "ppoll" => Rule::Special(|args| ends(args[1] as u32 > 0 || args[2] != 0)),
        "select" => Rule::Special(|args| ends((args[0] as i32) < 0 || args[4] != 0)),
        "pselect6" => Rule::Special(|args| ends((args[0] as i32) < 0 || args[4] != 0)),
        "mmap" => Rule::Special(|args| {
            let is_file = args[3] & libc::MAP_ANONYMOUS as u64 == 0 && is_descriptor(args[4]);
            only(is_file, "it would map memory; omit MAP_ANONYMOUS")
        }),
        "munmap" | "mprotect" | "mremap" | "madvise" | "msync" | "mincore" => {
            Rule::Special(|args| {
                let why = "it would change the memory of the process; give an address that is not a \
                           multiple of 4096, such as 1";
                only(args[0] % 4096 != 0, why)
            })
        }
        "socket" | "socketpair" => Rule::Special(socket),
        "clone" => Rule::Special(|args| {
            let flags = args[usize::from(cfg!(target_arch = "s390x"))];
            let (thread, sighand) = (libc::CLONE_THREAD as u64, libc::CLONE_SIGHAND as u64);
            let is_invalid = flags & thread != 0 && flags & sighand == 0;
            let why = "it would start a process; add CLONE_THREAD without CLONE_SIGHAND, which is invalid";
            only(is_invalid, why)
        }),
        "kill" | "tkill" => Rule::Special(|args| signal(args[0], args[1])),
        "tgkill" => Rule::Special(|args| {
            signal(if is_absent(args[0]) { args[0] } else { args[1] }, args[2])
        }),
        "setpgid" | "sched_setaffinity" | "sched_setscheduler" | "sched_setparam" => {
            Rule::Special(|args| absent(args[0]))
        }
        "ptrace" => Rule::Special(|args| match args[0] {
            0 => Err(Why::Other("it would trace the process itself")),
            _ => absent(args[1]),
        }),
        "seccomp" => Rule::Special(|args| only(args[0] as u32 != 0, "it would install a filter")),
        "arch_prctl" => Rule::Special(|args| {
            // ARCH_GET_FS, ARCH_GET_GS; the default.
            let only_reads = matches!(args[0], 0x1003 | 0x1004 | 0x7ff);
            let why = "it would change the process; give ARCH_GET_FS or ARCH_GET_GS, and 0";
            only(only_reads && is_never_mapped(args[1]), why)
        }),
        "prctl" => Rule::Special(prctl),
        _ => Rule::Numbers,
    }
}

/// Refuses arguments for a reason, unless a condition holds.
fn only(condition: bool, why: &'static str) -> Result<(), Why> {
    condition.then_some(()).ok_or(Why::Other(why))
}

fn ends(is_short: bool) -> Result<(), Why> {
    only(is_short, "it would wait; give 1 as the timeout, which is an invalid address")
}

fn is_absent(process: u64) -> bool {
    process as i32 > LAST_PROCESS
}

fn absent(process: u64) -> Result<(), Why> {
    let why = "it would act on a process; give one that does not exist, such as 0x7fffffff";
    only(is_absent(process), why)
}

fn signal(process: u64, signal: u64) -> Result<(), Why> {
    let why = "it would send a signal; give signal 0, or a process that does not exist, such as 0x7fffffff";
    only(signal as u32 == 0 || is_absent(process), why)
}

/// Other families and protocols could load kernel modules. A valid socket is created and at once released, because it gets
/// no descriptor.
fn socket(args: &[u64; 6]) -> Result<(), Why> {
    const TYPE: i32 = 0xf;
    let [domain, kind, protocol] = [args[0], args[1], args[2]].map(|arg| arg as i32);
    let is_invalid = kind & TYPE > 10;
    let is_usual = matches!(kind & TYPE, libc::SOCK_STREAM | libc::SOCK_DGRAM);
    let is_built_in = match domain {
        libc::AF_UNIX => true,
        libc::AF_INET | libc::AF_INET6 => is_usual && protocol == 0,
        _ => false,
    };
    let why = "it could load a kernel module; give the type 15, which is invalid";
    only(is_invalid || is_built_in, why)
}

/// Options that only return a number, and names at addresses that are never mapped.
fn prctl(args: &[u64; 6]) -> Result<(), Why> {
    const NUMBERS: [i32; 9] = [
        libc::PR_GET_DUMPABLE,
        libc::PR_GET_KEEPCAPS,
        libc::PR_GET_TIMING,
        libc::PR_CAPBSET_READ,
        libc::PR_GET_SECUREBITS,
        libc::PR_GET_TIMERSLACK,
        libc::PR_GET_NO_NEW_PRIVS,
        libc::PR_GET_THP_DISABLE,
        0x7ff,
    ];
    const POINTERS: [i32; 4] =
        [libc::PR_SET_NAME, libc::PR_GET_NAME, libc::PR_GET_PDEATHSIG, libc::PR_GET_TID_ADDRESS];
    let option = args[0] as i32;
    only(
        NUMBERS.contains(&option) || POINTERS.contains(&option) && is_never_mapped(args[1]),
        "it would change the process; give an option that only returns a number",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscalls::MeasurableSyscall;

    fn check_of(name: &str, args: &[u64]) -> Result<MeasurableSyscall, UnsafeArguments> {
        let mut all = [0; 6];
        all.iter_mut().zip(args).for_each(|(slot, arg)| *slot = *arg);
        MeasurableSyscall::find(name).unwrap().with_args(all)
    }

    const AT_FDCWD: u64 = -100i64 as u64;

    #[test]
    fn arguments_without_an_effect_are_accepted() {
        for (name, args) in [
            ("sendmmsg", &[3, 0, 0, 0x40][..]),
            ("ioctl", &[0, 0x5413]),
            ("write", &[1, 0x7fff_ffff_0000, 100]),
            ("getpid", &[0x1234, 1 << 40]),
            ("futex", &[0, 0x80, 1, 0, 0, 0xffff_ffff]),
            ("tgkill", &[1, 2, 0]),
            ("tgkill", &[0x7fff_ffff, 2, 9]),
            ("ppoll", &[0, 0, 1]),
            ("ppoll", &[0, 7]),
            ("openat", &[AT_FDCWD, 0, 0x1000]),
            ("newfstatat", &[3, 0, 0, 0x1000]),
            ("mmap", &[0, 4096, 3, 1, 5]),
            ("socket", &[1, 1]),
            ("socket", &[16, 15]),
        ] {
            let Some(call) = MeasurableSyscall::find(name) else { continue };
            let mut all = [0; 6];
            all[..args.len()].copy_from_slice(args);
            assert_ne!(call.args(), all);
            assert!(check_of(name, args).is_ok(), "{name} {args:x?}: {:?}", check_of(name, args));
        }
    }

    #[test]
    fn arguments_with_an_effect_are_refused() {
        for (name, args) in [
            ("kill", &[1, 9][..]),
            ("kill", &[u64::MAX, 15]),
            ("tgkill", &[1, 1, 9]),
            ("setpgid", &[0, 0]),
            ("ppoll", &[0, 0, 0]),
            ("poll", &[0, 0, u64::MAX]),
            ("select", &[0, 0, 0, 0, 0]),
            ("pselect6", &[3, 0, 0, 0, 0]),
            ("nanosleep", &[0x7fff_0000_1000]),
            ("futex", &[0x5555_5555_5000, 0]),
            ("mmap", &[0, 4096, 3, 0x22, u64::MAX]),
            ("munmap", &[0x5555_5555_5000, 4096]),
            ("clone", &[0x1200_0000]),
            ("clone", &[0x10900]),
            ("unshare", &[0x1000_0000]),
            ("newfstatat", &[AT_FDCWD, 0, 0, 0x1000]),
            ("fchownat", &[AT_FDCWD, 0, 0, 0, 0x1000]),
            ("move_mount", &[AT_FDCWD, 0, AT_FDCWD, 0, 0x44]),
            ("unlinkat", &[AT_FDCWD, 0x5555_5555_5000]),
            ("setns", &[-10_000i64 as u64]),
            ("prctl", &[22, 1]),
            ("seccomp", &[0]),
            ("ptrace", &[0, 0x7fff_ffff]),
            ("socket", &[38, 5]),
            ("alarm", &[1]),
            ("setuid", &[1]),
            ("personality", &[0x40000]),
            ("brk", &[0x5555_5555_5000]),
            ("capget", &[0x5555_5555_5000]),
            ("capset", &[0, 0x5555_5555_5000]),
            ("io_uring_register", &[u64::MAX, 35]),
        ] {
            let Some(_) = MeasurableSyscall::find(name) else { continue };
            assert!(check_of(name, args).is_err(), "{name} {args:x?}");
        }
    }

    /// A type with a name must not hide a pointer.
    #[test]
    fn arguments_that_may_be_any_number_are_numbers() {
        const NUMBERS: &[&str] = &[
            "__s32",
            "const clockid_t",
            "gid_t",
            "int",
            "key_serial_t",
            "loff_t",
            "long",
            "off_t",
            "pid_t",
            "rwf_t",
            "size_t",
            "timer_t",
            "u32",
            "uid_t",
            "umode_t",
            "unsigned",
            "unsigned int",
            "unsigned long",
        ];
        for call in MeasurableSyscall::all() {
            let Rule::Numbers = special(call.name) else { continue };
            let pointers: Vec<usize> = pointers(call.name).collect();
            let args = facts(call.name).map(|facts| facts.args).unwrap_or_default();
            let others = args.iter().enumerate().filter(|(slot, _)| !pointers.contains(slot));
            for (_, arg) in others {
                assert!(NUMBERS.contains(&arg.ctype), "{}: {}", call.name, arg.ctype);
            }
        }
    }
}

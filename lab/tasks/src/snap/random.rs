//! Random profiles. Most are valid; they have the forms in which a mistake of a reader would show.

use std::fmt::Write;

use callgate_bpf::random::Rng;

/// Syscalls with and without multiplexers, of one architecture only, with IDs, and unknown names.
const NAMES: &[&str] = &[
    "read",
    "write",
    "openat",
    "socket",
    "connect",
    "socketcall",
    "shmget",
    "waitpid",
    "mount",
    "ioctl",
    "setpriority",
    "prctl",
    "quotactl",
    "mknod",
    "chown",
    "setuid32",
    "copy_file_range",
    "fchownat",
    "arch_prctl",
    "nosuchcall",
    "@complainn",
];

/// Arguments with which a line is valid, except for syscalls that take IDs.
const ARGUMENTS: &[&str] = &[
    "-",
    "0",
    "1",
    "7",
    "4294967295",
    "AF_UNIX",
    "PF_NETLINK",
    "AF_CONN",
    "PRIO_PROCESS",
    "TIOCSTI",
    "!3",
    "<5",
    "<=5",
    ">5",
    ">=AF_INET",
    "|CLONE_NEWNS",
    "|0",
    "0|0",
    "S_IFREG|S_IFREG",
    "61440|S_IFCHR",
    "Q_XQUOTAON",
    "PTRACE_PEEKUSER",
    "O_NOTIFICATION_PIPE",
    "u:root",
    "g:root",
    "KCMP_EPOLL_TFD",
    "O_TMPFILE",
    "007",
];

/// Arguments that are often wrong.
const ODD: &[&str] = &[
    "-1",
    "+5",
    "-2147483649",
    "4294967296",
    "0x10",
    "AF_UNIKS",
    "u:nosuchuser",
    "u:",
    "g:A",
    "=1",
    "1|2|3",
    "!-1",
    "",
    "#",
    "1_0",
    "|",
    "!",
];

/// Makes profiles.
pub(super) struct Random {
    rng: Rng,
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random { rng: Rng::new(seed) }
    }

    /// The next profile.
    pub(super) fn profile(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.rng.below(12) {
            if self.one_in(10) {
                let odd = self.pick(&[
                    "",
                    "# comment",
                    " read",
                    "@complain",
                    "  @complain",
                    "read\r",
                    "~",
                    "getpid\t",
                ]);
                let _ = writeln!(text, "{odd}");
                continue;
            }
            if self.one_in(150) {
                let odd = self.pick(&["@unrestricted", " ", "read - - - - - - -"]);
                let _ = writeln!(text, "{odd}");
                continue;
            }
            if self.one_in(4) {
                text.push('~');
            }
            let name = self.pick(NAMES);
            text += name;
            for _ in 0..self.rng.below(4) {
                let argument = match self.rng.below(60) {
                    0 => self.pick(ODD),
                    _ if matches!(name, "chown" | "setuid32" | "copy_file_range" | "fchownat") => {
                        self.pick(&["-", "-1", "0", "u:root", "+7", "1000"])
                    }
                    _ => self.pick(ARGUMENTS),
                };
                let _ = write!(text, " {argument}");
            }
            text.push('\n');
        }
        text
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len())]
    }
}

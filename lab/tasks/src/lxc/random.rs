//! Random profiles. Most are valid; they have the forms in which a mistake of a reader would show.

use std::fmt::Write;

use callgate_bpf::random::Rng;

/// Syscalls of x86_64, x86 and x32: with and without multiplexers, of one architecture only, and unknown names.
const NAMES: &[&str] = &[
    "read",
    "write",
    "openat",
    "mmap",
    "mmap2",
    "socket",
    "shmget",
    "socketcall",
    "ipc",
    "waitpid",
    "umount2",
    "clone",
    "kexec_load",
    "arch_prctl",
    "personality",
    "ioctl",
    "vm86",
    "semtimedop",
    "sync_file_range2",
    "reject_force_umount",
    "nosuchcall",
];

const ACTIONS: &[&str] = &[
    "kill",
    "allow",
    "trap",
    "notify",
    "errno 1",
    "errno 38",
    "errno 0",
    "errno5",
    "errno -1",
    "errno 4094",
    "errno 4095",
    "errno 65537",
    "errno",
    "kill_process",
    "allowed",
    "log",
    "errno 1 2",
    "errno 1 # comment",
    "# comment",
    "",
];

/// Actions with which a profile is valid.
const VALID: &[&str] = &[
    "trap",
    "notify",
    "errno 1",
    "errno 0",
    "errno5",
    "errno 65537",
    "errno 1 # comment",
    "# comment",
    "",
];

const SECTIONS: &[&str] = &[
    "[all]",
    "[ALL]",
    "[x86]",
    "[X86]",
    "[x86_64]",
    "[x32]",
    "[arm]",
    "[arm64]",
    "[s390x]",
    "[mips64n32]",
    "[PPC]",
];

const OPERATORS: &[&str] = &[
    "SCMP_CMP_NE",
    "SCMP_CMP_LT",
    "SCMP_CMP_LE",
    "SCMP_CMP_EQ",
    "SCMP_CMP_GE",
    "SCMP_CMP_GT",
    "SCMP_CMP_MASKED_EQ",
    "!=",
    "<",
    "<=",
    "==",
    ">=",
    ">",
    "&=",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "5",
    "010",
    "0xff",
    "+7",
    " 3",
    "0x80000000",
    "0xffffffff",
    "0x100000001",
    "0xffffffff00000000",
    "18446744073709551615",
];

/// Makes profiles.
pub(super) struct Random {
    rng: Rng,
    text: String,
}

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random { rng: Rng::new(seed), text: String::new() }
    }

    /// The next profile.
    pub(super) fn profile(&mut self) -> String {
        if self.one_in(12) {
            return self.version_1();
        }
        self.text = String::from("2\n");
        let policy = self.pick(&["allowlist", "denylist", "whitelist", "blacklist"]);
        self.text += policy;
        if self.one_in(3) {
            let action = if self.one_in(4) {
                self.pick(ACTIONS)
            } else {
                self.pick(&["errno 7", "kill", "trap"])
            };
            let _ = write!(self.text, " {action}");
        }
        self.text.push('\n');
        // Few actions, so that rules of one syscall often have the same one.
        let actions = match self.one_in(6) {
            true => [self.pick(ACTIONS), "errno 2"],
            false => [self.pick(VALID), "errno 2"],
        };
        for _ in 0..self.rng.below(8) {
            self.line(&actions);
        }
        std::mem::take(&mut self.text)
    }

    fn version_1(&mut self) -> String {
        let mut text = String::from("1\nallowlist\n");
        for _ in 0..self.rng.below(6) {
            let number = match self.rng.below(20) {
                0 => -1,
                1 => 1 << 30,
                2 => 5000,
                _ => self.rng.below(460) as i64,
            };
            let end = self.pick(&["\n", " # comment\n", "\r\n"]);
            let _ = write!(text, "{number}{end}");
        }
        text
    }

    fn line(&mut self, actions: &[&'static str]) {
        match self.rng.below(12) {
            0 => {
                let section = self.pick(SECTIONS);
                let _ = writeln!(self.text, "{section}");
                return;
            }
            1 => {
                let line = self.pick(&["", "# comment", "  # comment", "read\twrite", "read\r"]);
                let _ = writeln!(self.text, "{line}");
                return;
            }
            _ => {}
        }
        let name = self.pick(NAMES);
        self.text += name;
        if !self.one_in(3) {
            let blanks = self.pick(&[" ", "  "]);
            let action = self.pick(actions);
            let _ = write!(self.text, "{blanks}{action}");
        }
        if self.one_in(2) {
            self.comparisons();
        }
        self.text.push('\n');
    }

    fn comparisons(&mut self) {
        let first = self.rng.below(6);
        for nth in 0..1 + self.rng.below(2) {
            let before = if nth == 0 { " " } else { self.pick(&["", " "]) };
            let index = if self.one_in(30) { 6 } else { (first + nth) % 6 };
            let value = self.pick(NUMBERS);
            // Rarely ordered comparisons, for which libseccomp's programs contradict its rules.
            let operator = if self.one_in(4) {
                self.pick(OPERATORS)
            } else {
                self.pick(&["==", "&=", "SCMP_CMP_EQ"])
            };
            let _ = write!(self.text, "{before}[{index},{value},{operator}");
            if operator == "&=" || self.one_in(8) {
                let mask = self.pick(NUMBERS);
                let _ = write!(self.text, ",{mask}");
            }
            self.text.push(']');
        }
        if self.one_in(30) {
            let end = self.pick(&[" ", " # comment", "x"]);
            self.text += end;
        }
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len())]
    }
}

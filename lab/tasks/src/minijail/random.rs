//! Random policies. Most are valid; they have the forms in which a mistake of a reader would show.

use std::fmt::Write;

use callgate::Arch;
use callgate_bpf::random::Rng;

/// Syscalls that all architectures of minijail have.
const SYSCALLS: &[&str] = &[
    "read",
    "write",
    "ioctl",
    "fcntl",
    "socket",
    "clone",
    "madvise",
    "exit_group",
    "kill",
    "openat",
    "close",
    "prctl",
    "mprotect",
    "munmap",
    "getpid",
    "gettid",
    "futex",
];

const OPERATORS: &[&str] = &["==", "!=", "<", "<=", ">", ">=", "&", "in"];

/// Values that fit into 32 bits.
const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "017",
    "0x10",
    "4294967295",
    "-1",
    "0x7fffffff",
    "089",
    "PROT_EXEC",
    "CLONE_NEWUSER",
    "O_CREAT",
    "AF_INET",
];

/// Values of 64 bits.
const WIDE_VALUES: &[&str] =
    &["0x100000000", "4294967297", "18446744073709551615", "0xffffffff00000000", "-4294967296"];

const ACTIONS: &[&str] = &[
    "allow",
    "1",
    "kill",
    "kill-process",
    "kill-thread",
    "trap",
    "trace",
    "log",
    "user-notify",
    "return EPERM",
    "return 5",
    "return -1",
    "return 0x1ffff",
];

const RETURNS: &[&str] = &["return EPERM", "return ENOSYS", "return 0", "return 4095"];

/// Lines that the compiler refuses, or that look so.
const MISTAKES: &[&str] = &[
    "nosuchcall: 1",
    "read 1",
    "read: 2",
    "read: arg0",
    "read: arg0 ==",
    "read: arg7 == 1",
    "read: arg6 == 1",
    "read: arg0 == nosuchconstant",
    "read: arg0 == ~~1",
    "read: arg0 == (1",
    "read: arg0 == 1 ||",
    "read: arg0 == 1; ",
    "read: {1",
    "read: {}",
    "{read: 1",
    "{}: 1",
    "read: 1 1",
    "read: 1; 1",
    "read: return",
    "read: return 1 | 2",
    "@default allow",
    "@default",
    "@include nothing",
    "@include ./nothing",
    "@frequency ./nothing",
    "@denylist ",
    "@other",
    "read: arg0 = 1",
    "read: arg0 == 18446744073709551616",
    "read: arg0 == -9223372036854775809",
    "read[: 1",
    "read[arch=x86_64; arch=arm]: 1",
    "group@name: 1",
    "read: 1 \\ ",
    "read: $",
    "read: 1\nread: 1",
    "read: 1\nread: arg0 == 1",
    "read: {1, arg0 == 1}",
    "close: 1 \\",
    "nosuchcall[arch=mips]: 1",
];

/// A policy and the files that it names.
pub(super) struct Policy {
    pub(super) text: String,
    pub(super) beside: Vec<(String, String)>,
}

/// Generator of policies.
pub(super) struct Random {
    rng: Rng,
    text: String,
    is_wide: bool,
    is_denylist: bool,
    /// The syscalls that have no action without a condition yet.
    open: Vec<&'static str>,
}

impl Random {
    pub(super) fn new(seed: u64, arch: Arch) -> Random {
        let (text, open) = (String::new(), Vec::new());
        Random { rng: Rng::new(seed), text, is_wide: arch.is_64bit(), is_denylist: false, open }
    }

    /// The next policy.
    pub(super) fn policy(&mut self) -> Policy {
        self.is_denylist = self.one_in(5);
        self.open = SYSCALLS.to_vec();
        let mut beside = Vec::new();
        if self.one_in(3) {
            self.start();
            self.statements();
            beside.push(("common.policy".to_owned(), std::mem::take(&mut self.text)));
        }
        let include = beside.len();
        self.start();
        if self.one_in(4) {
            beside.push(("counts.frequency".to_owned(), self.frequencies()));
            self.text += "@frequency ./counts.frequency # x\n";
        }
        if self.one_in(3) {
            let action = self.pick(&["kill", "kill-process", "kill-thread", "trap", "user-notify"]);
            let _ = writeln!(self.text, "@default {action}");
        }
        if include > 0 {
            self.text += "@include ./common.policy\n";
        }
        self.statements();
        if self.one_in(8) {
            let mistake = self.pick(MISTAKES);
            self.text += mistake;
            self.text.push('\n');
        }
        Policy { text: std::mem::take(&mut self.text), beside }
    }

    fn start(&mut self) {
        self.text = "# comment: x\n\n".to_owned();
        if self.is_denylist {
            self.text += "@denylist\n";
        }
    }

    fn frequencies(&mut self) -> String {
        let mut text = String::new();
        for _ in 0..self.rng.below(6) {
            let (name, count) = (self.pick(SYSCALLS), self.pick(&["1", "0", "1000", "0x20"]));
            let _ = writeln!(text, "{name}: {count}");
        }
        text
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.rng.below(from.len())]
    }

    fn statements(&mut self) {
        for _ in 0..self.rng.below(7) {
            if !self.open.is_empty() {
                self.statement();
            }
        }
    }

    fn statement(&mut self) {
        let is_group = self.one_in(4);
        let count = if is_group { 1 + self.rng.below(3) } else { 1 };
        self.rng.shuffle(&mut self.open);
        let names: Vec<&str> = self.open.iter().take(count).copied().collect();
        let with_arch: Vec<String> = names
            .iter()
            .map(|name| match self.rng.below(12) {
                0 => format!("{name}[arch=x86_64,arm]"),
                1 => format!("{name} [ arch=arm64,x86 ; x=y ]"),
                _ => (*name).to_owned(),
            })
            .collect();
        let joined = with_arch.join(", ");
        if is_group {
            let _ = write!(self.text, "{{{joined}}}: ");
        } else {
            let _ = write!(self.text, "{joined}: ");
        }
        let mut decides = false;
        if self.one_in(4) {
            self.text.push('{');
            let filters = 1 + self.rng.below(4);
            for index in 0..filters {
                let is_last = index + 1 == filters;
                decides = is_last && self.one_in(2);
                self.filter(decides);
                self.text += if is_last { "}" } else { ", \\\n  " };
            }
        } else {
            decides = self.one_in(3);
            self.filter(decides);
        }
        if decides {
            self.open.retain(|name| !names.contains(name));
        }
        self.text += "\n";
    }

    fn action(&mut self) -> &'static str {
        if self.is_denylist { self.pick(RETURNS) } else { self.pick(ACTIONS) }
    }

    fn filter(&mut self, is_action: bool) {
        if is_action {
            let action = self.action();
            self.text += action;
            return;
        }
        for index in 0..1 + self.rng.below(3) {
            self.text += if index > 0 { " || " } else { "" };
            for index in 0..1 + self.rng.below(3) {
                self.text += if index > 0 { " && " } else { "" };
                let (argument, operator) = (self.rng.below(6), self.pick(OPERATORS));
                let _ = write!(self.text, "arg{argument} {operator} ");
                self.value(2);
            }
        }
        if self.one_in(3) {
            let action = self.action();
            let _ = write!(self.text, "; {action}");
        }
    }

    fn value(&mut self, depth: usize) {
        let parts = if self.one_in(4) { 2 } else { 1 };
        for index in 0..parts {
            self.text += if index > 0 { "|" } else { "" };
            if self.one_in(6) {
                self.text.push('~');
            }
            if depth > 0 && self.one_in(8) {
                self.text.push('(');
                self.value(depth - 1);
                self.text.push(')');
            } else {
                let values = if self.is_wide && self.one_in(3) { WIDE_VALUES } else { VALUES };
                let value = self.pick(values);
                self.text += value;
            }
        }
    }
}

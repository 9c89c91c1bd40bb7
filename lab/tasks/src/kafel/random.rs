//! Random policies. Most are valid; they have the forms in which a mistake of a reader would show.

use std::fmt::Write;

use super::syscalls::Known;
use callgate_bpf::random::Rng;

const ACTIONS: &[&str] = &[
    "ALLOW",
    "LOG",
    "KILL",
    "KILL_THREAD",
    "KILL_PROCESS",
    "DENY",
    "USER_NOTIF",
    "ERRNO(1)",
    "ERRNO(0)",
    "ERRNO(4095)",
    "ERRNO(65535)",
    "TRAP(2)",
    "TRACE(0x10)",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "0xff",
    "017",
    "0b101",
    "0x80000000",
    "0xffffffff",
    "0x100000000",
    "0x100000001",
    "0xffffffff00000000",
    "0xffffffffffffffff",
    "-1",
    "-2",
    "ONE",
    "FLAGS",
];

const COMPARISONS: &[&str] = &["==", "!=", "<", "<=", ">", ">="];

/// Makes policies with these syscalls.
pub(super) struct Random {
    rng: Rng,
    syscalls: Vec<Known>,
    text: String,
    policies: usize,
}

impl Random {
    pub(super) fn new(seed: u64, syscalls: Vec<Known>) -> Random {
        Random { rng: Rng::new(seed), syscalls, text: String::new(), policies: 0 }
    }

    /// The next policy.
    pub(super) fn policy(&mut self) -> String {
        self.text = String::from("#define ONE 1\n#define FLAGS 0x22\n// comment\n");
        self.policies = 0;
        if self.one_in(4) {
            self.text += "#define mysyscall 39\n";
        } else {
            self.text += "#define mysyscall -1\n";
        }
        for _ in 0..self.rng.below(4) {
            let name = self.policies;
            let _ = writeln!(self.text, "POLICY p{name} {{");
            let statements = self.rng.below(4);
            for index in 0..statements {
                self.statement();
                self.text += if index + 1 < statements { ",\n" } else { "\n" };
            }
            self.text += "}\n";
            self.policies += 1;
        }
        for _ in 0..1 + self.rng.below(3) {
            self.statement();
            let between = self.pick(&["\n", " /* next */ "]);
            self.text += between;
        }
        if !self.one_in(8) {
            let action = self.pick(ACTIONS);
            let _ = writeln!(self.text, "DEFAULT {action}");
        }
        std::mem::take(&mut self.text)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.rng.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.rng.below(from.len())]
    }

    fn statement(&mut self) {
        if self.policies > 0 && self.one_in(3) {
            let name = self.rng.below(self.policies);
            let _ = write!(self.text, "USE p{name}");
            return;
        }
        let action = self.pick(ACTIONS);
        let _ = write!(self.text, "{action} {{ ");
        let filters = self.rng.below(5);
        for index in 0..filters {
            self.filter();
            self.text += if index + 1 < filters { ", " } else { " " };
        }
        self.text.push('}');
    }

    fn filter(&mut self) {
        let index = self.rng.below(self.syscalls.len());
        let Known { name, mut arguments } = self.syscalls[index].clone();
        match self.rng.below(10) {
            0 => {
                arguments = vec!["a", "b", "c"];
                let number = self.pick(&[
                    "SYSCALL[0]",
                    "SYSCALL[1]",
                    "SYSCALL[-1]",
                    "SYSCALL[500]",
                    "mysyscall",
                    "write",
                ]);
                let _ = write!(self.text, "{number}(a, b, c)");
            }
            1 => {
                arguments.clear();
                let number =
                    self.pick(&["SYSCALL[0]", "SYSCALL[0x7fffffff]", "mysyscall", "SYSCALL[041]"]);
                self.text += number;
            }
            _ => self.text += name,
        }
        match self.rng.below(12) {
            0 => self.text += " ON x86_64",
            1 => self.text += " ON { arm, aarch64 }",
            2 => self.text += " ON { AMD64, arm }",
            _ => {}
        }
        if self.one_in(4) || arguments.is_empty() {
            return;
        }
        self.text += " { ";
        self.condition(&arguments, 3);
        self.text += " }";
    }

    fn condition(&mut self, arguments: &[&str], depth: usize) {
        match self.rng.below(if depth == 0 { 5 } else { 9 }) {
            0..=4 => self.comparison(arguments),
            5 => {
                self.text += "!(";
                self.condition(arguments, depth - 1);
                self.text.push(')');
            }
            6 => {
                self.text.push('(');
                self.condition(arguments, depth - 1);
                self.text.push(')');
            }
            _ => {
                let parts = 2 + self.rng.below(2);
                let sign = self.pick(&[" && ", " || ", ", "]);
                // A comma binds less tightly than the rest, so it needs parentheses inside.
                self.text.push('(');
                for index in 0..parts {
                    if index > 0 {
                        self.text += sign;
                    }
                    self.condition(arguments, depth - 1);
                }
                self.text.push(')');
            }
        }
    }

    fn comparison(&mut self, arguments: &[&str]) {
        let few_bits = self.one_in(10);
        let sign = self.pick(COMPARISONS);
        if few_bits {
            let (a, b) = (self.pick(arguments), self.pick(arguments));
            let (left, right) =
                (self.pick(&["3", "0x700000000", "1"]), self.pick(&["5", "6", "0x100000003"]));
            let _ = write!(self.text, "{a} & {left} {sign} {b} & {right}");
            return;
        }
        let argument = self.pick(arguments);
        let swap = self.one_in(5);
        if swap {
            self.number();
            let _ = write!(self.text, " {sign} ");
        }
        match self.rng.below(6) {
            0 => {
                let _ = write!(self.text, "{argument} & ");
                self.number();
            }
            1 => {
                let _ = write!(self.text, "({argument} | ");
                self.number();
                self.text.push(')');
            }
            2 => {
                let _ = write!(self.text, "{argument} & ");
                self.number();
                self.text += " | ";
                self.number();
            }
            3 if self.one_in(8) => {
                let other = self.pick(arguments);
                let _ = write!(self.text, "({argument} | {other})");
            }
            4 if self.one_in(8) => self.number(),
            _ => self.text += argument,
        }
        if !swap {
            let _ = write!(self.text, " {sign} ");
            self.number();
            if self.one_in(8) {
                self.text += " | ";
                self.number();
            }
        }
    }

    fn number(&mut self) {
        let number = self.pick(NUMBERS);
        self.text += number;
    }
}

//! Parser of the operands of a statement: syscalls with their architectures, numbers and constants.

use std::collections::HashSet;

use super::lexer::{Kind, Token};
use super::parse::{Parser, Stop, Syntax, Syscall};
use crate::diagnostics::quote::{did_you_mean, shorten};
use callgate_bpf::syscalls::{is_known_name, known_name, nearest_name};
use callgate_bpf::{SyscallTable, constants};
use callgate_core::{Arch, errno_number};

impl Parser<'_> {
    /// A syscall. `None` if it is for other architectures.
    pub(super) fn syscall(&mut self) -> Syntax<Option<(Syscall, &'static str)>> {
        let name = self.peek().filter(|token| match token.kind {
            Kind::Name => true,
            // The only syscall whose name is an action.
            Kind::Action(action) => action == "kill",
            _ => false,
        });
        let Some(name) = name else { return Err(self.expected("the name of a syscall", "")) };
        self.take();
        if self.takes(Kind::Sign("[")) && !self.metadata()? {
            return Ok(None);
        }
        let text = self.text(name);
        if let Some((nr, known)) = syscall(self.arch, text) {
            return Ok(Some((Syscall { at: name.span, nr }, known)));
        }
        Err(self.unknown_syscall(name))
    }

    fn unknown_syscall(&mut self, token: Token) -> Stop {
        let name = self.text(token);
        let shown = shorten(name);
        let (message, help) = if name.contains('@') {
            (
                format!("unknown group of syscalls `{shown}`"),
                "name the syscalls: minijail's groups are in files that are not part of it"
                    .to_owned(),
            )
        } else if is_known_name(name) {
            let here = arch_name(self.arch).unwrap_or_default();
            let others: Vec<&str> = ARCHES
                .iter()
                .filter(|(_, arch)| syscall(*arch, name).is_some())
                .map(|(other, _)| *other)
                .collect();
            let help = match others.as_slice() {
                [] => format!("no architecture that minijail supports has it; remove it ({here})"),
                others => format!("restrict it: {shown}[arch={}]", others.join(",")),
            };
            (format!("{} has no syscall `{shown}`", self.arch), help)
        } else {
            let help = did_you_mean(
                self.reports.nearest(|| nearest_name(name)),
                "use a name as in syscalls(2)",
            );
            (format!("unknown syscall `{shown}`"), help)
        };
        self.fail_at(Some(token), message, &help)
    }

    /// What follows `[`. Returns whether the syscall is for this architecture.
    fn metadata(&mut self) -> Syntax<bool> {
        let mut applies = true;
        let mut keys = HashSet::new();
        loop {
            let key = self.name("a key such as `arch`")?;
            if !keys.insert(self.text(key)) {
                let message = format!("the key `{}` is given twice", shorten(self.text(key)));
                return Err(self.fail_at(Some(key), message, "remove one"));
            }
            if !self.takes(Kind::Sign("=")) {
                return Err(self.expected("`=`", ""));
            }
            let is_arch = self.text(key) == "arch";
            if !is_arch {
                let message = format!("the key `{}` has no effect", shorten(self.text(key)));
                self.warn(key, message, "the only key with an effect is `arch`");
            }
            let mut names_this = false;
            loop {
                let value = self.name("a name")?;
                let text = self.text(value);
                names_this |= arch_name(self.arch) == Some(text);
                if is_arch && !ARCHES.iter().any(|(name, _)| *name == text) {
                    let known = ARCHES.map(|(name, _)| name).join(", ");
                    let message = format!("unknown architecture `{}`", shorten(text));
                    self.warn(value, message, &format!("minijail's names are {known}"));
                }
                if !self.takes(Kind::Sign(",")) {
                    break;
                }
            }
            applies &= names_this || !is_arch;
            if !self.takes(Kind::Sign(";")) {
                break;
            }
        }
        if !self.takes(Kind::Sign("]")) {
            return Err(self.expected("`,`, `;` or `]`", ""));
        }
        Ok(applies)
    }
}

/// The maximum depth of parentheses.
const MAX_DEPTH: usize = 100;

/// Why a number has no value.
enum NumberError {
    TooLarge,
    TooSmall,
}

impl Parser<'_> {
    /// Constants separated by `|`.
    pub(super) fn value(&mut self) -> Syntax<u64> {
        self.value_at(0)
    }

    fn value_at(&mut self, depth: usize) -> Syntax<u64> {
        let mut value = 0;
        loop {
            value |= self.operand(depth)?;
            if !self.takes(Kind::Sign("|")) {
                return Ok(value);
            }
        }
    }

    /// A constant or a value in parentheses, perhaps with `~` before it.
    fn operand(&mut self, depth: usize) -> Syntax<u64> {
        let is_negated = self.takes(Kind::Sign("~"));
        let opening = self.peek();
        let value = if self.takes(Kind::Sign("(")) {
            if depth == MAX_DEPTH {
                let message = format!("parentheses are nested more than {MAX_DEPTH} deep");
                let at = opening.map_or(self.line.end, |token| token.span.at);
                self.reports.error(at, message).set_too_large("write fewer of them");
                return Err(Stop);
            }
            let value = self.value_at(depth + 1)?;
            if !self.takes(Kind::Sign(")")) {
                return Err(self.expected("`|` or `)`", ""));
            }
            value
        } else if is_negated && opening.is_some_and(|token| token.kind == Kind::Sign("~")) {
            let help = "minijail rejects this; remove both";
            return Err(self.fail_at(opening, "`~` after `~`".to_owned(), help));
        } else {
            self.constant("a number or a constant")?
        };
        Ok(if is_negated { !value & self.word() } else { value })
    }

    /// A number or the name of a constant.
    pub(super) fn constant(&mut self, what: &str) -> Syntax<u64> {
        let Some(token) = self.peek() else { return Err(self.expected(what, "")) };
        match token.kind {
            Kind::Number => {
                self.take();
                self.number(token)
            }
            Kind::Name => {
                self.take();
                let name = self.text(token);
                match constant(self.arch, name) {
                    Some(value) => Ok(value & self.word()),
                    None => Err(self.unknown_constant(token)),
                }
            }
            _ => Err(self.expected(what, "")),
        }
    }

    fn unknown_constant(&mut self, token: Token) -> super::parse::Stop {
        let name = self.text(token);
        let shown = shorten(name);
        if constants::is_name(name) {
            let message = format!("the constant `{shown}` does not exist on {}", self.arch);
            return self.fail_at(Some(token), message, "give a number");
        }
        let help = did_you_mean(
            self.reports.nearest(|| constants::nearest_name(name)),
            "give a number, or a constant of the kernel's headers",
        );
        self.fail_at(Some(token), format!("unknown constant `{shown}`"), &help)
    }

    /// The value of a number: hexadecimal, octal or decimal, negative ones as the kernel sees them.
    pub(super) fn number(&mut self, token: Token) -> Syntax<u64> {
        let given = self.text(token);
        match parse(given, self.word()) {
            Ok(value) => Ok(value),
            Err(error) => {
                let bits = self.word().count_ones();
                let (why, help) = match error {
                    NumberError::TooLarge => ("too large", "an argument"),
                    NumberError::TooSmall => ("too small", "a negative argument"),
                };
                let message = format!("the number {} is {why}", shorten(given));
                Err(self.fail_at(Some(token), message, &format!("{help} has {bits} bits")))
            }
        }
    }

    /// A mask of the bits of an argument.
    pub(super) fn word(&self) -> u64 {
        if self.arch.has_wide_registers() { u64::MAX } else { u32::MAX.into() }
    }
}

/// Parses a number: hexadecimal after `0x`, octal if it has only octal digits after a `0`, otherwise decimal.
fn parse(text: &str, word: u64) -> Result<u64, NumberError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_octal = digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None if is_octal => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    if digits.len() == text.len() {
        value.ok().filter(|value| *value <= word).ok_or(NumberError::TooLarge)
    } else {
        let lowest = word / 2 + 1;
        let value = value.ok().filter(|value| *value <= lowest).ok_or(NumberError::TooSmall)?;
        Ok(value.wrapping_neg() & word)
    }
}

/// The architectures of minijail, with its names for them.
pub(super) const ARCHES: [(&str, Arch); 6] = [
    ("x86_64", Arch::X86_64),
    ("x86", Arch::X86),
    ("arm64", Arch::Aarch64),
    ("arm", Arch::Arm),
    ("riscv64", Arch::Riscv64),
    ("loong64", Arch::Loongarch64),
];

/// minijail's name of an architecture.
pub(super) fn arch_name(arch: Arch) -> Option<&'static str> {
    ARCHES.iter().find(|(_, of)| *of == arch).map(|(name, _)| *name)
}

/// The number of a syscall, and its name in the kernel's table. minijail takes the names from the kernel's headers, which
/// mark those that only arm has.
pub(super) fn syscall(arch: Arch, name: &str) -> Option<(u32, &'static str)> {
    let own = name.strip_prefix("ARM_").filter(|_| arch == Arch::Arm).unwrap_or(name);
    Some((arch.number(own)?, known_name(own)?))
}

/// Names that only the C library has, and the kernel's names for the same values.
const ALIASES: [(&str, &str); 6] = [
    ("MAP_ANON", "MAP_ANONYMOUS"),
    ("O_FSYNC", "O_SYNC"),
    ("O_RSYNC", "O_SYNC"),
    ("S_IEXEC", "S_IXUSR"),
    ("S_IREAD", "S_IRUSR"),
    ("S_IWRITE", "S_IWUSR"),
];

/// The value of a constant or an errno.
pub(super) fn constant(arch: Arch, name: &str) -> Option<u64> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
    constants::value(arch, alias.unwrap_or(name)).or_else(|| errno_number(name).map(u64::from))
}

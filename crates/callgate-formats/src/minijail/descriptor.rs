//! Parser of syscalls with their architectures: `read`, `read[arch=x86_64,arm]`.

use std::collections::HashSet;

use super::lexer::{Kind, Token};
use super::model::Syscall;
use super::names::{self, ARCHES};
use super::parse::{Parser, Stop, Syntax};
use crate::diagnostics::quote::shorten;
use callgate_bpf::syscalls::{is_known_name, nearest_name};

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
        if let Some((nr, known)) = names::syscall(self.arch, text) {
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
                "name the syscalls: the groups of minijail are in files that are not part of it"
                    .to_owned(),
            )
        } else if is_known_name(name) {
            let here = names::arch_name(self.arch).unwrap_or_default();
            let others: Vec<&str> = ARCHES
                .iter()
                .filter(|(_, arch)| names::syscall(*arch, name).is_some())
                .map(|(other, _)| *other)
                .collect();
            let help = match others.as_slice() {
                [] => format!("no architecture of minijail has it; remove it ({here})"),
                others => format!("restrict it: {shown}[arch={}]", others.join(",")),
            };
            (format!("{} has no syscall `{shown}`", self.arch), help)
        } else {
            let help = match self.reports.nearest(|| nearest_name(name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "use a name as in syscalls(2)".to_owned(),
            };
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
                names_this |= names::arch_name(self.arch) == Some(text);
                if is_arch && !ARCHES.iter().any(|(name, _)| *name == text) {
                    let known = ARCHES.map(|(name, _)| name).join(", ");
                    let message = format!("unknown architecture `{}`", shorten(text));
                    self.warn(value, message, &format!("the names of minijail are {known}"));
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

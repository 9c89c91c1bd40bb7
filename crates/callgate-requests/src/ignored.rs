//! Why a filter is a subset only as the kernel reads arguments: bits that filters compare and the kernel ignores.

use callgate::{SeccompData, sets};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::diagram::{DiagramError, Func, Store};

use crate::json::Json;
use crate::syscall;

/// A syscall that A permits and B denies, though B permits one that the kernel reads as the same.
#[derive(Clone, Debug)]
pub struct IgnoredBits {
    denied: SeccompData,
    /// `None` if B denies both, one of them less strictly.
    allowed: Option<SeccompData>,
}

impl IgnoredBits {
    /// The key in JSON.
    pub const KEY: &str = "ignored_bits";

    /// Of two filters, as functions of all bits; `None` if the first one is a subset also for all bits.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn find(store: &mut Store, [a, b]: [Func; 2]) -> Result<Option<IgnoredBits>, DiagramError> {
        let all = sets::not_in_func(store, a, b, 1)?;
        Ok(all.first().map(|first| IgnoredBits {
            denied: first.data,
            allowed: sets::permitted_alike(store, b, &first.data)
                .filter(|allowed| *allowed != first.data),
        }))
    }

    /// What it means for a comparison of filters with these names; `advice` is how all bits are compared.
    pub fn warning(&self, [a, b]: [&str; 2], advice: &str) -> Diagnostic {
        let show = |data: &SeccompData| syscall::show(syscall::arch_of(data), data);
        let denied = show(&self.denied);
        let (a, b) = if a == b { ("A", "B") } else { (a, b) };
        let message = match &self.allowed {
            Some(allowed) => format!(
                "{b} denies {denied} but allows {}, which the kernel reads as the same; so {a} counts as a subset",
                show(allowed)
            ),
            None => format!(
                "{b} is stricter for {denied} than for a syscall that the kernel reads as the same; so {a} counts as a \
                 subset"
            ),
        };
        Diagnostic::warning(None, message).help(advice)
    }

    /// Both syscalls.
    pub fn json(&self) -> Json {
        let call = |data: &SeccompData| Json::Object(syscall::fields(syscall::arch_of(data), data));
        Json::Object(vec![
            ("denied", call(&self.denied)),
            ("allowed", self.allowed.as_ref().map(call).into()),
        ])
    }
}

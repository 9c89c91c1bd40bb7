//! Policies whose diagram exceeds the budget, and the syscalls that need most nodes.

use super::too_long::with_arch;
use callgate_core::SyscallSet;
use callgate_core::diagram::DiagramError;

/// The maximum number of listed syscalls.
const LISTED: usize = 5;

/// A policy whose diagram exceeds the budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooComplex {
    pub(super) limit: DiagramError,
    /// Arch token, number, and nodes of the syscalls that need most nodes, in descending order.
    largest: Vec<(u32, u32, usize)>,
    /// The number of groups of syscalls with the same rules for which nodes were created.
    parts: usize,
}

impl TooComplex {
    /// Parts are arch token, first number and nodes, one for each group of syscalls with the same rules.
    pub(super) fn new(limit: DiagramError, mut parts: Vec<(u32, u32, usize)>) -> TooComplex {
        parts.retain(|(_, _, nodes)| *nodes > 0);
        let count = parts.len();
        parts.sort_by_key(|(_, _, nodes)| std::cmp::Reverse(*nodes));
        parts.truncate(LISTED);
        TooComplex { limit, largest: parts, parts: count }
    }

    /// The syscalls that need most nodes, and how to fix it.
    pub(super) fn help(&self) -> Option<String> {
        if self.largest.is_empty() {
            return None;
        }
        let mut help = String::from("most nodes up to the limit belong to the conditions of\n");
        for (token, nr, nodes) in &self.largest {
            help += &format!("{nodes:>12}  {}\n", with_arch(*token, &SyscallSet::one(*nr)));
        }
        if let Some(more @ 1..) = self.parts.checked_sub(LISTED) {
            help += &format!("{:>12}  and {more} more\n", "");
        }
        help += "        compare fewer arguments of one syscall, or remove some values; or\n        \
                 split the filter into a stack of filters: the kernel runs all of them";
        Some(help)
    }
}

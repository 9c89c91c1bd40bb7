//! The reasons of all filters of a source.

use callgate::{Arch, SeccompData, Verdict};
use callgate_bpf::SyscallTable;

use super::reason::FilterReason;
use crate::source::SourceStack;

/// A syscall with the reasons of all filters of a source.
pub(super) struct Answer<'s> {
    pub(super) arch: Option<Arch>,
    pub(super) data: SeccompData,
    /// The combined verdict.
    pub(super) verdict: Verdict,
    /// The filter that decides first, then the others from the newest on.
    pub(super) filters: Vec<FilterReason<'s>>,
}

impl<'s> Answer<'s> {
    pub(super) fn new(stack: &'s SourceStack, arch: Option<Arch>, data: SeccompData) -> Answer<'s> {
        let call = arch.and_then(|arch| arch.syscall_name(data.nr));
        let newest_first = stack.filters.iter().rev();
        let mut filters: Vec<_> =
            newest_first.map(|filter| FilterReason::of(filter, &data, call)).collect();
        let verdict = Verdict::of_stack(filters.iter().map(|filter| filter.verdict));
        // Of several with the verdict, the kernel takes the newest.
        if let Some(decides) = filters.iter().position(|filter| filter.verdict == verdict) {
            let first = filters.remove(decides);
            filters.insert(0, first);
        }
        Answer { arch, data, verdict, filters }
    }
}

//! The warning about syscalls that the kernel's cache does not know because of variables.

use super::options::CompiledTemplate;
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Arch;

impl CompiledTemplate {
    /// A warning if there are [`uncached`](CompiledTemplate::uncached) syscalls.
    #[must_use]
    pub fn cache_warning(&self) -> Option<Diagnostic> {
        let (token, nr) = self.uncached.first()?;
        let first = Arch::of_syscall(*token, *nr).and_then(|arch| arch.syscall_name(*nr));
        let first = first.map_or_else(|| nr.to_string(), str::to_owned);
        let (others, is, whose) = match self.uncached.len() - 1 {
            0 => (String::new(), "is", "its verdict"),
            1 => (" and 1 more syscall".to_owned(), "are", "their verdict"),
            others => (format!(" and {others} more syscalls"), "are", "their verdict"),
        };
        let message = format!(
            "the kernel cannot cache that `{first}`{others} {is} allowed: {whose} depends only on variables"
        );
        let help = "compile a filter for each case, so that the kernel can cache that it is always allowed";
        Some(Diagnostic::warning(None, message).help(help))
    }
}

//! Builds and installs the filter with the crate seccompiler when the program starts.

mod timed;

// counted: policy
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, Le};
use seccompiler::{BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule};

fn filter(output: u32, limit: u64) -> Result<BpfProgram, seccompiler::BackendError> {
    let allowed = [
        libc::SYS_read,
        libc::SYS_futex,
        libc::SYS_nanosleep,
        libc::SYS_clone,
        libc::SYS_rseq,
        libc::SYS_sigaltstack,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_exit_group,
    ];
    let output = SeccompCondition::new(0, Dword, Eq, output.into())?;
    let limit = SeccompCondition::new(1, Qword, Le, limit)?;
    let rules = allowed.into_iter().map(|number| (number, vec![])).chain([
        (libc::SYS_write, vec![SeccompRule::new(vec![output])?]),
        (libc::SYS_mmap, vec![SeccompRule::new(vec![limit])?]),
    ]);
    SeccompFilter::new(
        rules.collect(),
        SeccompAction::Errno(1),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}
// counted: end

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = timed::arguments();
    let start = timed::now();
    // counted: start
    seccompiler::apply_filter_all_threads(&filter(1, arguments.limit)?)?;
    // counted: end
    timed::report(start, &arguments);
    Ok(())
}

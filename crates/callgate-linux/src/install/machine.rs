//! Whether a filter is for the machine that installs it.

use callgate::{Arch, Proved, SeccompData, SyscallTable};
use callgate_core::{FilterSpec, Program, Spec};

use super::error::{InstallError, InstallErrorKind};

/// Refuses a program that is for other architectures and would deny every syscall of this process, which could not even end.
///
/// It is for other architectures if `arches`, the architectures of its source, lack the one of this process. It is accepted
/// anyway if it permits `exit_group` of this process, like a policy with ALLOW as the verdict for other architectures.
/// Nothing is refused if `arches` is empty or the architecture of this process is unknown.
///
/// [`Installer::install`](super::Installer::install) calls this for the policy of a proved program. It is for programs
/// whose source is known in another way.
///
/// ```
/// use callgate::{Arch, Filter};
/// use callgate_linux::{InstallErrorKind, check_machine};
///
/// let own = Arch::native().ok_or("an unknown machine")?;
/// let other = if own == Arch::S390x { Arch::X86_64 } else { Arch::S390x };
/// let program = Filter::builder(other).allow(["exit_group"])?.build()?.compile()?;
/// let error = check_machine(&program, &[other]).unwrap_err();
/// assert!(matches!(error.kind(), InstallErrorKind::OtherMachine { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`InstallErrorKind::OtherMachine`].
pub fn check_machine(program: &Program, arches: &[Arch]) -> Result<(), InstallError> {
    let Some(machine) = Arch::native() else { return Ok(()) };
    if arches.is_empty() || arches.contains(&machine) {
        return Ok(());
    }
    let Some(nr) = machine.number("exit_group") else { return Ok(()) };
    let data = SeccompData { nr, arch: machine.token(), ..SeccompData::default() };
    match program.run(&data, machine.endian()).verdict.permits() {
        true => Ok(()),
        false => Err(InstallErrorKind::OtherMachine { arches: arches.to_vec(), machine }.into()),
    }
}

/// The same for the architectures of its policy, if it was compiled from one.
pub(super) fn check_policy(program: &Proved) -> Result<(), InstallError> {
    match program.spec() {
        Spec::Filter(FilterSpec::Policy(policy)) => {
            check_machine(program, &policy.arches().collect::<Vec<_>>())
        }
        _ => Ok(()),
    }
}

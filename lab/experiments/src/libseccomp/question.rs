//! The rules of a policy as text, for the helper:
//!
//! ```text
//! level 1
//! bad_arch 0x80000000
//! default 0x50001
//! arch x86_64
//! rule 1 write 0x7fff0000 0:4:0x1:0x0
//! ```
//!
//! A rule has a number, a name (`-` if it has none), an action and comparisons: argument, operation and two values, as
//! `struct scmp_arg_cmp` has them.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use callgate::Arch;
use callgate_core::policy::{Cmp, Policy, Test};

use super::error::LibseccompError;
use super::library::ArgCmp;
use super::rules::{Action, argument, filters};

/// The rules of the policy; `level` is that of `SCMP_FLTATR_CTL_OPTIMIZE`.
pub(super) fn question(policy: &Policy, level: u32) -> Result<String, LibseccompError> {
    let mut text = format!("level {level}\nbad_arch {:#x}\n", policy.bad_arch().0);
    if let Some(section) = policy.sections().first() {
        let _ = writeln!(text, "default {:#x}", section.default.0);
    }
    for filter in filters(policy)? {
        let arch = filter.arch;
        let _ = writeln!(text, "arch {}", arch.name());
        for (nr, action) in &filter.syscalls {
            let name = arch.syscall_name(*nr).unwrap_or("-");
            let mut rule = |verdict: callgate::Verdict, tests: &[Test]| {
                let _ = write!(text, "rule {nr} {name} {:#x}", verdict.0);
                for test in tests {
                    let ArgCmp { arg, op, datum_a, datum_b } = comparison(arch, test);
                    let _ = write!(text, " {arg}:{op}:{datum_a:#x}:{datum_b:#x}");
                }
                text.push('\n');
            };
            match action {
                Action::Always(verdict) => rule(*verdict, &[]),
                Action::Combinations(all) => {
                    all.iter().for_each(|(tests, verdict)| rule(*verdict, tests));
                }
            }
        }
    }
    Ok(text)
}

/// A test as libseccomp has it. Of an architecture with 32-bit registers, it compares 32 bits.
fn comparison(arch: Arch, test: &Test) -> ArgCmp {
    let full = if arch.is_64bit() { u64::MAX } else { u32::MAX.into() };
    let mask = test.mask & test.field.full_mask();
    let arg = argument(test.field).unwrap_or_default().into();
    if mask & full != full {
        return ArgCmp { arg, op: 7, datum_a: mask, datum_b: test.value };
    }
    let op = match test.cmp {
        Cmp::Ne => 1,
        Cmp::Lt => 2,
        Cmp::Le => 3,
        Cmp::Eq => 4,
        Cmp::Ge => 5,
        Cmp::Gt => 6,
    };
    ArgCmp { arg, op, datum_a: test.value, datum_b: 0 }
}

//! Reads lists: from the texts to an [`AndroidPolicy`].

use super::arches::{arch_name, arches_of};
use super::lists::{Lists, lists};
use super::lower::lower;
use super::options::{AndroidPolicy, ListText, ReadOptions};
use super::statements::statements;
use crate::files::{At, FileErrors, Report};
use callgate_core::Arch;

/// Reads the lists of a filter. A list of allowed syscalls alone is the filter that allows only these.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::android::{ListKind, ListText, ReadOptions, read};
///
/// let lists = [
///     ListText::new(ListKind::Base, "__close:close(int) all\nchroot(const char*) all\n"),
///     ListText::new(ListKind::Block, "chroot(const char*) all\n"),
/// ];
/// let policy = read(&lists, &ReadOptions::new(Arch::Aarch64))?.policy;
/// let call = |nr| SeccompData { nr, arch: Arch::Aarch64.token(), ..SeccompData::default() };
/// assert_eq!(policy.evaluate(&call(57)), Verdict::ALLOW); // close
/// assert_eq!(policy.evaluate(&call(51)), Verdict::trap(0)); // chroot
/// # Ok::<(), callgate_formats::android::FileErrors>(())
/// ```
///
/// # Errors
/// All messages about the texts, including warnings, if at least one is an error.
pub fn read(texts: &[ListText<'_>], options: &ReadOptions) -> Result<AndroidPolicy, FileErrors> {
    let mut report = Report::new(texts.iter().map(|list| list.text));
    let arches = arches_of(options.native);
    if arches.is_empty() {
        let message = format!("bionic has no filters for {}", options.native);
        report.error(At::default(), message).help =
            "give one of its architectures: x86_64, aarch64 or riscv64, for old lists mipsel64"
                .to_owned();
        return Err(report.finish().into());
    }
    let lists = lists(&mut report, texts, arches, options);
    if report.failed() {
        return Err(report.finish().into());
    }
    warn_about_old(&mut report, &lists);
    match lower(&mut report, &lists) {
        Ok((policy, priorities, entries)) if !report.failed() => {
            let statements =
                options.statements.then(|| statements(&report, texts, &lists, &entries));
            Ok(AndroidPolicy { policy, priorities, statements, warnings: report.finish() })
        }
        Ok(_) => Err(report.finish().into()),
        Err(error) => {
            report.error(At::default(), error.to_string());
            Err(report.finish().into())
        }
    }
}

/// Warns if the C library of this version may not have an architecture, for which `all` stands here.
fn warn_about_old(report: &mut Report<'_>, lists: &Lists<'_>) {
    let Some(at) = lists.base_at else { return };
    let is_rare = |arch: Arch| matches!(arch, Arch::Riscv64 | Arch::Mipsel64 | Arch::Mipsel);
    for of_arch in lists.arches.iter().filter(|of_arch| is_rare(of_arch.arch)) {
        if !lists.named.has(of_arch.arch) {
            let name = arch_name(of_arch.arch);
            let message =
                format!("no entry names {name}, so this version of bionic may not have it");
            report.warn(at, message).help =
                "Android 10 and earlier have mips and mips64, Android 14 and later riscv64"
                    .to_owned();
        }
    }
}

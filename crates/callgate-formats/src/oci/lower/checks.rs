//! Checks of entries that need no other entry: unknown names, actions that runtimes reject, values that are cut.

use crate::oci::dialect::Dialect;
use crate::oci::model::{Entry, Model, SyscallName};
use crate::syntax::reader::Reader;
use crate::unknown_syscall::report_unknown_syscall;
use callgate_bpf::diagnostic::Severity;
use callgate_core::{Action, Arch};

/// Reports syscall names that no architecture has.
pub(super) fn check_names(reader: &mut Reader<'_>, model: &Model<'_>, strict: bool) {
    let names = model.entries.iter().flat_map(|entry| &entry.names);
    for unknown in names.filter(|name| !name.name.is_empty() && !name.is_known()) {
        report_unknown_syscall(
            reader,
            unknown.name,
            unknown.at,
            strict,
            "it is skipped",
            &[],
            None,
        );
    }
}

/// The largest errno that libseccomp accepts, one less than the kernel's.
const MAX_LIBSECCOMP_ERRNO: u16 = 4094;

/// Reports errnos that libseccomp rejects.
pub(super) fn check_errnos(reader: &mut Reader<'_>, model: &Model<'_>, entries: &[&Entry<'_>]) {
    let named = |entry: &&&Entry<'_>| {
        entry.action.verdict != model.default.verdict
            && !entry.alternatives.is_empty()
            && entry.names.iter().any(|name| name.is_known())
    };
    let actions = entries.iter().filter(named).map(|entry| &entry.action);
    for action in std::iter::once(&model.default).chain(actions) {
        let verdict = action.verdict;
        if verdict.action() == Action::Errno(verdict.data())
            && verdict.data() > MAX_LIBSECCOMP_ERRNO
        {
            let message = format!(
                "the errno is {}; libseccomp's limit is {MAX_LIBSECCOMP_ERRNO}, so the container would not \
                 start",
                verdict.data()
            );
            reader.error(action.at, message).help = "use an errno that exists".to_owned();
        }
    }
}

/// Reports uses of SCMP_ACT_NOTIFY that block the container or its runtime.
pub(super) fn check_notify(
    reader: &mut Reader<'_>,
    model: &Model<'_>,
    entries: &[&Entry<'_>],
    dialect: Dialect,
) {
    const NOTIFY: &str = "SCMP_ACT_NOTIFY";
    let by_runc = matches!(dialect, Dialect::Docker | Dialect::Runc);
    let severity = if by_runc { Severity::Error } else { Severity::Warning };
    if model.default.name == NOTIFY {
        let message = "SCMP_ACT_NOTIFY as the default action blocks the container before its listener \
                       is connected";
        reader.report(severity, model.default.at, message).help =
            "runc rejects it; use SCMP_ACT_NOTIFY only for syscalls that the listener handles"
                .to_owned();
    }
    let notifying = entries.iter().filter(|entry| entry.action.name == NOTIFY);
    for entry in notifying.clone() {
        if let Some(write) = entry.names.iter().find(|name| name.name == "write") {
            let message = "SCMP_ACT_NOTIFY for `write` blocks the runtime itself, which needs `write` \
                           to hand over the listener";
            reader.report(severity, write.at, message).help =
                "runc rejects it; remove `write` from this entry".to_owned();
        }
    }
    if let (Some(entry), None) = (notifying.into_iter().next(), &model.listener) {
        let message = "SCMP_ACT_NOTIFY without `listenerPath`: without a listener, these syscalls fail \
                       with ENOSYS";
        reader.warn(entry.action.at, message).help =
            "set `listenerPath` to the listener's socket".to_owned();
    }
}

/// Warns about values of which a 32-bit architecture compares only the low half.
pub(super) fn check_wide_values(reader: &mut Reader<'_>, entry: &Entry<'_>, arches: &[Arch]) {
    let Some(narrow) = arches.iter().find(|arch| !arch.is_64bit()) else { return };
    let wide = entry.alternatives.iter().flatten().find(|test| test.value() > u64::from(u32::MAX));
    if let (Some(wide), Some(SyscallName { at, name, .. })) = (wide, entry.names.first()) {
        let message = format!(
            "on {narrow}, argument {} of `{name}` is compared with {:#x} instead of {:#x}: only \
             the low 32 bits exist there",
            wide.arg(),
            wide.value() as u32,
            wide.value()
        );
        reader.warn(*at, message).help =
            "libseccomp does the same; check that this is intended".to_owned();
    }
}

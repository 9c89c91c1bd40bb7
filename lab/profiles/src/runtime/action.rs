//! Actions of profiles, and the errnos that belong to them.

use super::host::{Dialect, Host};

/// An action and its data.
pub(super) fn action(name: &str, errno: u64) -> Result<u32, String> {
    let data = (errno & 0xffff) as u32;
    Ok(match name {
        "SCMP_ACT_KILL" | "SCMP_ACT_KILL_THREAD" => 0,
        "SCMP_ACT_KILL_PROCESS" => 0x8000_0000,
        "SCMP_ACT_TRAP" => 0x0003_0000,
        "SCMP_ACT_ERRNO" => 0x0005_0000 | data,
        "SCMP_ACT_TRACE" => 0x7ff0_0000 | data,
        "SCMP_ACT_LOG" => 0x7ffc_0000,
        "SCMP_ACT_ALLOW" => 0x7fff_0000,
        "SCMP_ACT_NOTIFY" => NOTIFY,
        _ => return Err(format!("unknown action {name:?}")),
    })
}

pub(super) const NOTIFY: u32 = 0x7fc0_0000;

/// Checks that libseccomp accepts the action: an errno must be below `MAX_ERRNO`, although the kernel accepts that
/// value too.
pub(super) fn check_action(action: u32, dialect: Dialect) -> Result<(), String> {
    let limit = if dialect == Dialect::Oci { 4096 } else { 4095 };
    match action & 0xffff_0000 == 0x0005_0000 && action & 0xffff >= limit {
        true => Err(format!("errno {} is too large", action & 0xffff)),
        false => Ok(()),
    }
}

/// Whether runc prepends nothing for this default action.
pub(super) fn is_permissive(default: u32) -> bool {
    matches!(default & 0xffff_0000, 0x7fff_0000 | 0x7ffc_0000 | 0x7ff0_0000)
}

pub(super) fn takes_errno(action: &str) -> bool {
    matches!(action, "SCMP_ACT_ERRNO" | "SCMP_ACT_TRACE")
}

/// An errno for an action without errno is an error in the specification and in crun.
pub(super) fn check_errno_taken(action: &str, errno: Option<u64>) -> Result<(), String> {
    match errno.is_some() && !takes_errno(action) {
        true => Err(format!("an errno for {action}")),
        false => Ok(()),
    }
}

/// The errno of Podman's fields: a name or a number as text takes precedence over the number.
pub(super) fn podman_errno(
    name: &str,
    number: Option<u64>,
    host: &Host,
) -> Result<Option<u64>, String> {
    if name.is_empty() {
        return Ok(number);
    }
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if let (true, Ok(number)) = (digits, name.parse::<u32>()) {
        return Ok(Some(number.into()));
    }
    let names = [
        ("EPERM", 1),
        ("ENOENT", 2),
        ("EACCES", 13),
        ("EINVAL", 22),
        ("ENOSYS", host.native.enosys()),
    ];
    let known = names.into_iter().find(|(known, _)| *known == name);
    known.map(|(_, number)| Some(number.into())).ok_or_else(|| format!("unknown errno {name:?}"))
}

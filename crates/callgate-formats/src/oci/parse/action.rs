//! Reader of actions and errnos.

use crate::diagnostics::quote::shorten;
use crate::oci::dialect::Dialect;
use crate::oci::model::ProfileAction;
use crate::syntax::reader::{Fields, Reader};
use crate::syntax::tree::Node;
use callgate_core::{Arch, Verdict, errno_number};

#[rustfmt::skip]
const ACTIONS: [&str; 9] = [
    "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO", "SCMP_ACT_KILL", "SCMP_ACT_KILL_THREAD",
    "SCMP_ACT_KILL_PROCESS", "SCMP_ACT_TRAP", "SCMP_ACT_TRACE", "SCMP_ACT_LOG", "SCMP_ACT_NOTIFY",
];

/// The largest errno that the kernel returns (`MAX_ERRNO`).
const MAX_ERRNO: u16 = 4095;

/// The largest errno up to which the numbers are the same on all architectures (`asm-generic/errno-base.h`).
const MAX_COMMON_ERRNO: u16 = 34;

/// EPERM, the default data of ERRNO and TRACE.
const EPERM: u16 = 1;

/// `errnoRet`, or Podman's `errno`, which takes precedence, after its byte offset. The maximum depends on the action.
pub(super) fn errno(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
    [action_key, number_key, name_key]: [&str; 3],
    native: Arch,
) -> Option<(usize, u16)> {
    let action = fields.get(action_key).and_then(Node::text);
    let max = if action == Some("SCMP_ACT_ERRNO") { MAX_ERRNO } else { u16::MAX };
    let number = fields.get(number_key).and_then(|node| {
        let value = reader.integer(node, &format!("`{number_key}`"), max.into())?;
        Some((node.at, u16::try_from(value).ok()?))
    });
    let named = fields.get(name_key).and_then(|node| {
        let text = reader.text(node, &format!("`{name_key}`"))?;
        if text.is_empty() {
            return None;
        }
        let number = text.parse().ok().filter(|number| *number <= max);
        let errno = number.or_else(|| match errno_number(text) {
            Some(_) if text == "ENOSYS" => Some(native.enosys()),
            errno => errno,
        });
        // MIPS and PA-RISC number all but the oldest names differently.
        let own_numbers = native.enosys() != Arch::X86_64.enosys();
        if number.is_none() && own_numbers && text != "ENOSYS" && errno > Some(MAX_COMMON_ERRNO) {
            let message =
                format!("`{text}` has a different number on {native} than on most architectures");
            reader.error(node.at, message).help = "write the number in quotes".to_owned();
            return None;
        }
        if errno.is_none() {
            let message = format!(
                "`{name_key}` is \"{}\", which is not an errno from 0 to {max}",
                shorten(text)
            );
            reader.error(node.at, message).help =
                "write a name such as \"EPERM\", or a number in quotes".to_owned();
        }
        Some((node.at, errno?))
    });
    match (named, number) {
        (Some((_, named)), Some((at, number))) if named != number => {
            let message =
                format!("`{number_key}` is ignored because `{name_key}` is given and differs");
            reader.warn(at, message).help = "remove one of them".to_owned();
        }
        _ => {}
    }
    named.or(number)
}

/// An action with its verdict. `None` only after an error was reported.
pub(super) fn action(
    reader: &mut Reader<'_>,
    node: &Node<'_>,
    what: &str,
    errno: Option<(usize, u16)>,
    dialect: Dialect,
) -> Option<ProfileAction> {
    let given = reader.text(node, what)?;
    let Some(name) = ACTIONS.into_iter().find(|name| *name == given) else {
        let message = format!("{what} is \"{}\", which is not an action", shorten(given));
        let near = reader.nearest(given, ACTIONS);
        reader.error(node.at, message).help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => "the actions are SCMP_ACT_ALLOW, _ERRNO, _KILL, _KILL_THREAD, \
                     _KILL_PROCESS, _TRAP, _TRACE, _LOG and _NOTIFY"
                .to_owned(),
        };
        return None;
    };
    let data = errno.map_or(EPERM, |(_, errno)| errno);
    let (verdict, takes_data) = match name {
        "SCMP_ACT_ALLOW" => (Verdict::ALLOW, false),
        "SCMP_ACT_ERRNO" => (Verdict::errno(data), true),
        "SCMP_ACT_KILL_PROCESS" => (Verdict::KILL_PROCESS, false),
        "SCMP_ACT_TRAP" => (Verdict::trap(0), false),
        "SCMP_ACT_TRACE" => (Verdict::trace(data), true),
        "SCMP_ACT_LOG" => (Verdict::LOG, false),
        "SCMP_ACT_NOTIFY" => (Verdict::user_notif(0), false),
        _ => (Verdict::KILL_THREAD, false),
    };
    if let Some((at, _)) = errno.filter(|_| !takes_data) {
        let message = format!("{name} does not take an errno");
        match dialect {
            Dialect::Oci | Dialect::Crun | Dialect::Podman => {
                reader.error(at, message).help =
                    "remove it: the specification requires an error, and crun and Podman report one"
                        .to_owned();
            }
            Dialect::Docker | Dialect::Runc => {
                reader.warn(at, format!("{message}; it is ignored")).help =
                    "remove it: crun rejects the profile".to_owned();
            }
        }
    }
    Some(ProfileAction { at: node.at, name, verdict })
}

//! Actions: after the policy, and after the name of a syscall.

use super::scan::{Base, integer};
use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use callgate_core::Verdict;

/// The actions, in the order in which LXC compares them with the start of a text.
const ACTIONS: [&str; 5] = ["kill", "errno", "allow", "trap", "notify"];

/// The action at the start of a text, and what follows it; `None` after an error was reported. LXC compares only the first
/// letters, so `kill_process` is `kill`.
pub(super) fn action<'t>(
    reader: &mut Reader<'_>,
    text: &'t str,
    at: usize,
) -> Option<(Verdict, &'t str)> {
    if text.starts_with('[') {
        reader.error(at, "missing action before the arguments").help =
            "write one of kill, errno N, allow, trap and notify before them".to_owned();
        return None;
    }
    let word = text.split([' ', '\t', '\r', '[', '#']).next().unwrap_or(text);
    let Some((name, rest)) =
        ACTIONS.iter().find_map(|name| Some((*name, text.strip_prefix(name)?)))
    else {
        let near = reader.nearest(word, ACTIONS);
        let message = format!("`{}` is not an action of LXC", shorten(word));
        reader.error(at, message).help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "the actions are kill, errno N, allow, trap and notify".to_owned(),
        };
        return None;
    };
    if name == "errno" {
        let Some((number, rest)) = integer(rest, Base::Decimal) else {
            reader.error(at, "missing number after `errno`").help =
                "LXC takes numbers from 0 to 4094, such as errno 1".to_owned();
            return None;
        };
        // SCMP_ACT_ERRNO keeps 16 bits of an int.
        let errno = number as u16;
        if i64::from(errno) != number {
            let message = format!("LXC keeps 16 bits of the errno {number}: {errno}");
            reader.warn(at, message).help = "use a number from 0 to 4094".to_owned();
        }
        return Some((Verdict::errno(errno), rest));
    }
    if name == "kill" && matches!(word, "kill_process" | "killprocess") {
        reader.warn(at, format!("LXC reads `{word}` as `kill`, which kills the thread")).help =
            "write kill; LXC has no action that kills the process".to_owned();
    } else if word != name {
        let message = format!("LXC reads `{}` as `{name}`", shorten(word));
        reader.warn(at, message).help = format!("write {name}");
    }
    let verdict = match name {
        "kill" => Verdict::KILL_THREAD,
        "allow" => Verdict::ALLOW,
        "trap" => Verdict::trap(0),
        _ => Verdict::user_notif(0),
    };
    Some((verdict, text.strip_prefix(word).unwrap_or(rest)))
}

/// Warns about text after an action or a number that LXC ignores, unless it is a comment.
pub(super) fn report_ignored(reader: &mut Reader<'_>, text: &str, at: usize, after: &str) {
    let ignored = text.split('#').next().unwrap_or(text).trim();
    if !ignored.is_empty() {
        let message = format!("LXC ignores `{}` after the {after}", shorten(ignored));
        reader.warn(at, message).help = "remove it, or write # before it".to_owned();
    }
}

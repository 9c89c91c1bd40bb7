//! Constants that programs pass to the kernel, but that only its internal headers define; C libraries have their own
//! copies of these.

use std::fmt::Write;
use std::path::Path;

use super::names;
use crate::syscalls::sources::read;
use callgate_tasks::Result;

/// The headers in `include/linux`, and the starts of the macros that are taken from them.
const MACROS: &[(&str, &[&str])] = &[
    ("socket.h", &["AF_", "PF_", "MSG_", "SOL_"]),
    ("splice.h", &["SPLICE_F_"]),
    ("fs.h", &["MNT_", "UMOUNT_NOFOLLOW"]),
    ("swap.h", &["SWAP_FLAG_"]),
    ("syslog.h", &["SYSLOG_ACTION_"]),
];

/// The enumerations in `include/linux`, and the starts of their names.
const ENUMS: &[(&str, &str, &str)] =
    &[("net.h", "sock_type", "SOCK_"), ("net.h", "sock_shutdown_cmd", "SHUT_")];

/// A header with these constants. `SOCK_CLOEXEC` and `SOCK_NONBLOCK` are defined as in `linux/net.h`, and the types
/// of sockets on MIPS as in `arch/mips/include/asm/socket.h`, which the package lacks.
pub(super) fn header(include: &Path) -> Result<String> {
    let mut text = String::new();
    for (file, starts) in MACROS {
        let path = include.join(file);
        let before = text.len();
        for line in read(&path)?.lines() {
            let name = line.strip_prefix("#define ").unwrap_or_default().trim_start();
            // Continued definitions belong to the kernel itself.
            if starts.iter().any(|start| name.starts_with(start)) && !line.ends_with('\\') {
                let line = line.split("/*").next().unwrap_or_default();
                let _ = writeln!(text, "{line}");
            }
        }
        if text.len() == before {
            return Err(format!(
                "{}: no macro starts with {}",
                path.display(),
                starts.join(" or ")
            ));
        }
    }
    for (file, tag, start) in ENUMS {
        let path = include.join(file);
        let source = read(&path)?;
        let body = source
            .split_once(&format!("\nenum {tag} {{"))
            .and_then(|(_, rest)| rest.split_once('}'))
            .ok_or_else(|| format!("{}: missing enum {tag}", path.display()))?
            .0;
        let all = names::enumerators(body);
        let own: Vec<String> = all.into_iter().filter(|name| name.starts_with(start)).collect();
        if own.is_empty() {
            return Err(format!("{}: enum {tag} has no {start}*", path.display()));
        }
        let _ = writeln!(text, "enum {tag} {{{}}};", names::without_comments(body));
    }
    let types = text.find("enum sock_type").unwrap_or(text.len());
    let end =
        text.get(types..).and_then(|rest| rest.find(';')).map_or(text.len(), |at| types + at + 1);
    text.insert_str(end, "\n#endif\n");
    text.insert_str(
        types,
        "#ifdef __mips__\nenum sock_type { SOCK_DGRAM = 1, SOCK_STREAM = 2, SOCK_RAW = 3, SOCK_RDM = 4, \
         SOCK_SEQPACKET = 5, SOCK_DCCP = 6, SOCK_PACKET = 10 };\n#else\n",
    );
    text += "#define SOCK_CLOEXEC O_CLOEXEC\n#ifndef SOCK_NONBLOCK\n#define SOCK_NONBLOCK O_NONBLOCK\n#endif\n";
    Ok(text)
}

//! Detection of policies.

use callgate_bpf::syscalls::is_known_name;

/// Directives with which a policy may begin.
const DIRECTIVES: [&[u8]; 4] = [b"@include", b"@frequency", b"@default", b"@denylist"];

/// Whether a text, which may be a policy in Kafel's language, begins like a policy of minijail: with a directive, or with
/// `name:` or `{names}:`.
#[must_use]
pub fn is_like_policy(text: &[u8]) -> bool {
    first_statement(text).is_some()
}

/// Whether a text, which may be a program, begins like a policy: with a directive, or with a syscall and a filter.
#[must_use]
pub fn is_policy(text: &[u8]) -> bool {
    match first_statement(text) {
        None => false,
        Some(Statement::Directive) => true,
        Some(Statement::Filter { name, filter }) => {
            const FILTERS: [&[u8]; 11] = [
                b"1",
                b"arg",
                b"return ",
                b"return\t",
                b"{",
                b"allow",
                b"kill",
                b"log",
                b"trace",
                b"trap",
                b"user-notify",
            ];
            let is_syscall = std::str::from_utf8(name).is_ok_and(is_known_name);
            is_syscall && FILTERS.iter().any(|begin| filter.starts_with(begin))
        }
    }
}

enum Statement<'t> {
    Directive,
    Filter { name: &'t [u8], filter: &'t [u8] },
}

/// The first line that is neither empty nor a comment, if it is a statement.
fn first_statement(text: &[u8]) -> Option<Statement<'_>> {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with(b"#"))?;
    if DIRECTIVES.iter().any(|directive| line.starts_with(directive)) {
        return Some(Statement::Directive);
    }
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (before, filter) = (line.get(..colon)?.trim_ascii(), line.get(colon + 1..)?.trim_ascii());
    let names = before.strip_prefix(b"{").and_then(|inside| inside.strip_suffix(b"}"));
    let name =
        names.unwrap_or(before).split(|byte| matches!(byte, b',' | b'[')).next()?.trim_ascii();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_statement =
        name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(is_name);
    is_statement.then_some(Statement::Filter { name, filter })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_begin_with_a_directive_or_a_syscall() {
        for policy in [
            "read: 1",
            "# x\n\n@include ./a.policy\n",
            "@denylist\n",
            "ioctl: arg1 == 1",
            "{ read, write }: return EPERM",
            "open[arch=x86_64] : allow",
        ] {
            assert!(is_policy(policy.as_bytes()) && is_like_policy(policy.as_bytes()), "{policy}");
        }
        for text in ["raed: 1", "read: x", "start: ld [0]", "read: ret ALLOW"] {
            assert!(!is_policy(text.as_bytes()) && is_like_policy(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "#define A 1",
            "POLICY a {}",
            "ALLOW { read }",
            "{ 0x20, 0, 0, 0 }",
            "{\"a\": 1}",
            "0: ld arch",
            ": 1",
            "@x",
        ] {
            assert!(!is_policy(text.as_bytes()) && !is_like_policy(text.as_bytes()), "{text}");
        }
    }
}

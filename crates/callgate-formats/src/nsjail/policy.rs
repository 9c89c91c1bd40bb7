//! The policy of a configuration as one text in Kafel's language.

use super::decode::Decoded;
use super::fields::{Fields, Placed};
use super::scanner::Malformed;

/// The text of the policy.
///
/// # Errors
/// If the configuration has no policy, or several.
pub(super) fn policy(fields: &Fields) -> Result<Decoded, Malformed> {
    let fail = |at, message: &str, help| Err(Malformed { at, message: message.to_owned(), help });
    if let [_, second, ..] = fields.files.as_slice() {
        return fail(second.at, "`seccomp_policy_file` is given twice", "give one file");
    }
    // As for nsjail, an empty name is none.
    let file = fields.files.first().filter(|file| !file.value.bytes.is_empty());
    match (file, fields.lines.as_slice()) {
        (None, []) => fail(
            0,
            "the configuration has no filter, so all syscalls are allowed",
            "`seccomp_string` or `seccomp_policy_file` installs one",
        ),
        (Some(file), [_, ..]) => fail(
            file.at,
            "nsjail refuses `seccomp_policy_file` and `seccomp_string` together",
            "give one of them",
        ),
        (Some(file), []) => included(file),
        (None, lines) => {
            let mut text = Decoded::default();
            for line in lines {
                text.append(&line.value);
                text.push_byte(b'\n', line.at);
            }
            Ok(text)
        }
    }
}

/// A policy that is a file.
fn included(file: &Placed<Decoded>) -> Result<Decoded, Malformed> {
    let name = &file.value.bytes;
    if name.iter().any(|byte| matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | 0)) {
        let message = "the name of the policy has a character that is not read".to_owned();
        return Err(Malformed { at: file.at, message, help: "rename the file" });
    }
    // All of it comes from the place of the name.
    let mut text = Decoded::default();
    for byte in b"#include \"".iter().chain(name).chain(b"\"\n") {
        text.push_byte(*byte, file.at);
    }
    Ok(text)
}

//! Texts that the readers of two formats accept, with different meanings.

use crate::Arch;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_bpf::text::has_marks;
use callgate_formats::oci;

use super::format::{ProgramForm, SourceFormat};

/// An error for a text whose format was detected, if it is both source code with a program and a profile in YAML, such as a
/// profile with the filter as a comment. `advice` is how the format is given.
pub(super) fn ambiguous(format: SourceFormat, bytes: &[u8], advice: &str) -> Option<Diagnostic> {
    if format != SourceFormat::Program(ProgramForm::Text) {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let is_key = |line: &str| {
        let (key, _) = line.trim_start().split_once(':').unwrap_or_default();
        key.trim_end().trim_matches(['"', '\'']) == "defaultAction"
    };
    if !has_marks(text) {
        return None;
    }
    // The version of the kernel decides which rules apply, not whether the text is a profile.
    let options = oci::ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 12 });
    oci::read(text, &options).ok()?;
    // A key may be written in other ways, too.
    let line = text.lines().position(is_key);
    let line = line.map_or_else(String::new, |line| format!(" (line {})", line + 1));
    let message = format!(
        "this text is a profile in YAML{line}, and source code with a program, which may be another filter"
    );
    Some(Diagnostic::error(None, message).help(advice.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_with_source_code_in_it_is_ambiguous() {
        let error = |text: &str| {
            ambiguous(SourceFormat::Program(ProgramForm::Text), text.as_bytes(), "choose")
        };
        let profile = "listenerMetadata: |\n  TEXT\nlistenerPath: /run/s\ndefaultAction: SCMP_ACT_ALLOW\nsyscalls: [{names: [ptrace], action: SCMP_ACT_ERRNO}]\n";
        let array = "struct sock_filter f[] = { { 6, 0, 0, 0 } };";
        let message = error(&profile.replace("TEXT", array)).map(|error| error.message);
        assert!(message.is_some_and(|message| message.contains("YAML (line 4)")));
        let indented = profile.replace("TEXT", array).replace('\n', "\n  ");
        assert!(error(&format!("  {indented}")).is_some());
        let rules =
            "defaultAction: SCMP_ACT_ALLOW, syscalls: [{names: [ptrace], action: SCMP_ACT_ERRNO}]";
        for profile in [
            format!(
                "kind: SeccompProfile\napiVersion: security-profiles-operator.x-k8s.io/v1beta1\nstatus: |\n  TEXT\nspec: {{{rules}}}\n"
            ),
            format!("hostname: |\n  TEXT\nlinux: {{seccomp: {{{rules}}}}}\n"),
            profile.replace("defaultAction", "\"default\\u0041ction\""),
        ] {
            assert!(error(&profile.replace("TEXT", array)).is_some(), "{profile}");
        }
        for text in
            [format!("{array}\n"), format!("/*\n{profile}*/\n{array}\n"), profile.to_owned()]
        {
            assert_eq!(error(&text), None, "{text}");
        }
    }
}

//! The formats of sources: languages of policies, and programs.

use std::path::Path;

use callgate_formats::languages::{self, LanguageId, Likeness, Parts};

/// The format of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// A policy in a language.
    Policy(LanguageId),
    /// A BPF program.
    Program(ProgramForm),
    /// A socket filter, raw or as text.
    Socket,
}

/// The encoding of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramForm {
    /// `struct sock_filter`, 8 bytes each.
    Raw,
    /// A listing in one of the notations that `callgate asm` reads.
    Text,
}

impl SourceFormat {
    /// The formats of programs, by name.
    const PROGRAMS: [SourceFormat; 3] = [
        SourceFormat::Program(ProgramForm::Raw),
        SourceFormat::Program(ProgramForm::Text),
        SourceFormat::Socket,
    ];

    /// All formats that can be given.
    pub fn all() -> impl Iterator<Item = SourceFormat> + Clone {
        LanguageId::read().map(SourceFormat::Policy).chain(SourceFormat::PROGRAMS)
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<SourceFormat> {
        SourceFormat::all().find(|format| format.name() == name)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            SourceFormat::Policy(language) => language.name(),
            SourceFormat::Program(ProgramForm::Raw) => "bpf",
            SourceFormat::Program(ProgramForm::Text) => "bpftext",
            SourceFormat::Socket => "socket",
        }
    }

    /// The language, if it is a policy.
    pub fn language(self) -> Option<LanguageId> {
        match self {
            SourceFormat::Policy(language) => Some(language),
            SourceFormat::Program(_) | SourceFormat::Socket => None,
        }
    }

    /// Whether a text has parts, one of which is read.
    pub fn parts(self) -> Parts {
        match self {
            SourceFormat::Policy(language) => language.language().parts,
            SourceFormat::Program(ProgramForm::Text) => Parts::Some,
            SourceFormat::Program(ProgramForm::Raw) | SourceFormat::Socket => Parts::None,
        }
    }

    /// Detects the format from the name of the file and the content.
    pub fn of_file(name: &str, bytes: &[u8]) -> SourceFormat {
        let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
        SourceFormat::detect(extension, bytes)
    }

    /// Detects the format from the extension of the file name and the content.
    pub fn detect(extension: Option<&str>, bytes: &[u8]) -> SourceFormat {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let found = languages::detect(extension, bytes);
        let as_likely_as = |least: Likeness| {
            let found = found.filter(|(_, likeness)| *likeness >= least);
            found.map(|(language, _)| SourceFormat::Policy(language))
        };
        if let Some(certain) = as_likely_as(Likeness::Certain) {
            return certain;
        }
        if extension == Some("bpf") {
            return SourceFormat::Program(ProgramForm::Raw);
        }
        if let Some(by_name) = as_likely_as(Likeness::RestOfExtension) {
            return by_name;
        }
        if is_pasted(bytes.trim_ascii()) && as_likely_as(Likeness::Text).is_none() {
            return SourceFormat::Program(ProgramForm::Text);
        }
        let is_text =
            bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace());
        as_likely_as(Likeness::Rest).unwrap_or(SourceFormat::Program(match is_text {
            true => ProgramForm::Text,
            false => ProgramForm::Raw,
        }))
    }
}

/// Whether the first line is the prompt of a shell, or a tag around code in a document. JSON begins with a bracket and a
/// brace as well.
fn is_pasted(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    let has = |part: &[u8]| line.windows(part.len()).any(|window| window == part);
    (line.starts_with(b"[") && (has(b"]$ ") || has(b"]# ")))
        || (line.starts_with(b"{%") && line.ends_with(b"%}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(extension: Option<&str>, text: &[u8]) -> &'static str {
        SourceFormat::detect(extension, text).name()
    }

    #[test]
    fn the_content_determines_the_format() {
        for (text, format) in [
            (&b" \n{ \"defaultAction\""[..], "oci"),
            (b"{}", "oci"),
            (b"\xef\xbb\xbf{", "oci"),
            (b"", "oci"),
            (b"{\"vmm\": {\"filter\": []}}", "firecracker"),
            (b"[]", "oci"),
            (b"[a@b ~]$ x\n", "bpftext"),
            (b"[a@b ~]$ ./x\n# filter for arch x86_64 (3221225534)\n", "pfc"),
            (b"{% highlight c %}\n{", "bpftext"),
            (b"{ 0x20, 0, 0, 4 },", "bpftext"),
            (b"2\n32 0 0 4\n6 0 0 0\n", "bpftext"),
            (&[6, 0, 0, 0, 0, 0, 0xff, 0x7f], "bpf"),
            (b"// x\nPOLICY p {}", "kafel"),
            (b"{read, write}: 1\n", "minijail"),
            (b"[Service]\nA=b\n", "systemd"),
        ] {
            assert_eq!(of(None, text), format, "{text:?}");
        }
        for (extension, text, format) in [
            ("bpf", "{}", "bpf"),
            ("json", "null", "oci"),
            ("policy", "#define A 1", "kafel"),
            ("kafel", "", "kafel"),
            ("policy", "", "kafel"),
            ("policy", "raed: 1", "minijail"),
            ("service", "", "systemd"),
        ] {
            assert_eq!(of(Some(extension), text.as_bytes()), format, "{extension}: {text}");
        }
        assert_eq!(
            SourceFormat::detect(None, b"{}").language().and_then(LanguageId::given_name),
            None
        );
    }

    #[test]
    fn yaml_differs_from_assembler_text() {
        for yaml in [
            "apiVersion: v1\nkind: SeccompProfile\n",
            "# a comment\n\n---\nkind: SeccompProfile\n",
            "\u{feff}%YAML 1.2\n---\n",
            "--- # x\n",
            "spec:\r\n  defaultAction: SCMP_ACT_ERRNO\r\n",
            "syscalls:\n- names: [read]\n",
            "\"defaultAction\": SCMP_ACT_ERRNO",
            "'kind': SeccompProfile",
        ] {
            assert_eq!(of(None, yaml.as_bytes()), "oci", "{yaml}");
        }
        for text in [
            "start: ld [0]\nret #0\n",
            "# spec: a comment\nyes: ret ALLOW\n",
            "kind:ret ALLOW\n",
            "; ---\nret ALLOW\n",
            "#\n",
            "0: ld arch\n",
        ] {
            assert_eq!(of(None, text.as_bytes()), "bpftext", "{text}");
        }
        let file = |extension: &str| of(Some(extension), b"start: ld [0]");
        assert_eq!(file("yaml"), "oci");
        assert_eq!(file("yml"), "oci");
        assert_eq!(file("asm"), "bpftext");
    }
}

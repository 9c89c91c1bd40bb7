//! Detects the format of a source from its content.

use callgate::formats::Language;
use callgate::formats::firecracker::is_document;
use callgate::formats::minijail;

use super::android::is_list;
use super::kafel;
use super::lxc::is_lxc_profile;
use crate::source::format::{ProgramForm, SourceFormat};

/// Detects the format from the extension of the file name and the content.
pub fn detect(extension: Option<&str>, bytes: &[u8]) -> SourceFormat {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match extension {
        Some("bpf") => return SourceFormat::Program(ProgramForm::Raw),
        Some(extension) => {
            if let Some(language) = Language::of_extension(extension, bytes) {
                return SourceFormat::of(language);
            }
        }
        None => {}
    }
    let mut rest = bytes.trim_ascii();
    if is_pasted(rest) {
        return SourceFormat::Program(ProgramForm::Text);
    }
    if let Some(inside) = rest.strip_prefix(b"{") {
        if is_document(rest) {
            return SourceFormat::Firecracker;
        }
        // A row of `tcpdump -dd` also begins with a brace, followed by a number.
        rest = inside.trim_ascii_start();
        if !rest.first().is_some_and(u8::is_ascii_alphanumeric) {
            return SourceFormat::Profile(None);
        }
    }
    let is_text = bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace());
    if rest.is_empty() || rest.starts_with(b"[") {
        // Empty, or other JSON: the profile reader has the best message.
        SourceFormat::Profile(None)
    } else if is_text && is_yaml(rest) {
        SourceFormat::Profile(None)
    } else if kafel::is_policy(rest) {
        SourceFormat::Kafel
    } else if is_text && minijail::is_policy(rest) {
        SourceFormat::Minijail
    } else if is_lxc_profile(rest) {
        SourceFormat::Lxc
    } else if is_text && is_list(rest) {
        SourceFormat::Android
    } else if is_text {
        SourceFormat::Program(ProgramForm::Text)
    } else {
        SourceFormat::Program(ProgramForm::Raw)
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

/// Whether the first significant line begins a profile in YAML. A word and a colon may also be an assembler label,
/// so the word must be a key with which such files begin.
fn is_yaml(text: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"apiVersion",
        b"kind",
        b"metadata",
        b"spec",
        b"ociVersion",
        b"defaultAction",
        b"defaultErrnoRet",
        b"architectures",
        b"archMap",
        b"syscalls",
    ];
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")) else {
        return false;
    };
    if line.starts_with(b"---") || line.starts_with(b"%YAML") {
        return true;
    }
    let mut parts = line.splitn(2, |byte| *byte == b':');
    let (Some(key), Some(value)) = (parts.next(), parts.next()) else {
        return false;
    };
    let quoted = |mark| key.strip_prefix(mark).and_then(|key| key.strip_suffix(mark));
    let key = quoted(b"\"").or(quoted(b"'")).unwrap_or(key);
    KEYS.contains(&key) && value.first().is_none_or(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_determines_the_format() {
        let of = |bytes: &[u8]| detect(None, bytes);
        assert_eq!(of(b" \n{ \"defaultAction\""), SourceFormat::Profile(None));
        assert_eq!(of(b"{}"), SourceFormat::Profile(None));
        assert_eq!(of(b"\xef\xbb\xbf{"), SourceFormat::Profile(None));
        assert_eq!(of(b""), SourceFormat::Profile(None));
        assert_eq!(of(b"{\"vmm\": {\"filter\": []}}"), SourceFormat::Firecracker);
        assert_eq!(of(b"[]"), SourceFormat::Profile(None));
        assert_eq!(of(b"[a@b ~]$ x\n"), SourceFormat::Program(ProgramForm::Text));
        assert_eq!(of(b"{% highlight c %}\n{"), SourceFormat::Program(ProgramForm::Text));
        assert_eq!(of(b"{ 0x20, 0, 0, 4 },"), SourceFormat::Program(ProgramForm::Text));
        assert_eq!(of(b"2\n32 0 0 4\n6 0 0 0\n"), SourceFormat::Program(ProgramForm::Text));
        assert_eq!(of(&[6, 0, 0, 0, 0, 0, 0xff, 0x7f]), SourceFormat::Program(ProgramForm::Raw));
        assert_eq!(detect(Some("bpf"), b"{}"), SourceFormat::Program(ProgramForm::Raw));
        assert_eq!(detect(Some("json"), b"null"), SourceFormat::Profile(None));
        assert_eq!(of(b"// x\nPOLICY p {}"), SourceFormat::Kafel);
        assert_eq!(detect(Some("policy"), b"#define A 1"), SourceFormat::Kafel);
        assert_eq!(detect(Some("kafel"), b""), SourceFormat::Kafel);
        assert_eq!(detect(Some("policy"), b""), SourceFormat::Kafel);
        assert_eq!(detect(Some("policy"), b"raed: 1"), SourceFormat::Minijail);
        assert_eq!(of(b"{read, write}: 1\n"), SourceFormat::Minijail);
    }

    #[test]
    fn yaml_differs_from_assembler_text() {
        let of = |text: &str| detect(None, text.as_bytes());
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
            assert_eq!(of(yaml), SourceFormat::Profile(None), "{yaml}");
        }
        for text in [
            "start: ld [0]\nret #0\n",
            "# spec: a comment\nyes: ret ALLOW\n",
            "kind:ret ALLOW\n",
            "; ---\nret ALLOW\n",
            "#\n",
            "0: ld arch\n",
        ] {
            assert_eq!(of(text), SourceFormat::Program(ProgramForm::Text), "{text}");
        }
        let file = |extension: &str| detect(Some(extension), b"start: ld [0]");
        assert_eq!(file("yaml"), SourceFormat::Profile(None));
        assert_eq!(file("yml"), SourceFormat::Profile(None));
        assert_eq!(file("asm"), SourceFormat::Program(ProgramForm::Text));
    }
}

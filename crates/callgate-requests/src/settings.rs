//! How sources are read, as settings with a key and a text. Requests and typed interfaces share them.

use callgate::{Arch, Endian};
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::suggest::nearest;
use callgate_bpf::text::Definition;
use callgate_formats::languages::Reading;
use callgate_formats::libseccomp_versions::RuncVersion;
use callgate_formats::minijail::Semantics;
use callgate_formats::oci::EnosysAbove;

use crate::arch::arch_named;
use callgate::source::{SourceFormat, SourceText};

type Result<T> = std::result::Result<T, Diagnostic>;

/// The settings of a source.
const OF_SOURCE: &[&str] = &[
    "name",
    "format",
    "part",
    "machine",
    "arches",
    "kernel",
    "caps",
    "enosys_above",
    "libseccomp",
    "runc",
    "crun",
    "systemd",
    "minijail_semantics",
    "strict",
    "endian",
    "define",
    "undefine",
];

/// The value of a name in a list; `what` is given, for messages.
pub(crate) fn named<T: Copy>(what: &str, given: &str, known: &[(&str, T)]) -> Result<T> {
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == given) {
        return Ok(*value);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let help = match nearest(given, names.iter().copied()) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("{what} is one of {}", names.join(", ")),
    };
    let shown: String = given.chars().take(40).collect();
    Err(Diagnostic::error(None, format!("unknown {what} \"{shown}\"")).help(help))
}

/// An architecture, by any of its names.
pub(crate) fn arch(what: &str, given: &str) -> Result<Arch> {
    if let Some(arch) = arch_named(given) {
        return Ok(arch);
    }
    let known: Vec<(&str, Arch)> = Arch::ALL.iter().map(|arch| (arch.name(), *arch)).collect();
    named(what, given, &known)
}

/// A value with a parser of its own.
fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(key: &str, given: &str) -> Result<T> {
    given.parse().map_err(|error| Diagnostic::error(None, format!("`{key}`: {error}")))
}

/// The error for a key.
pub(crate) fn unknown(key: &str, known: &[&str]) -> Diagnostic {
    let known: Vec<(&str, ())> = known.iter().map(|name| (*name, ())).collect();
    match named("setting", key, &known) {
        Err(error) => error,
        Ok(()) => Diagnostic::error(None, format!("the setting \"{key}\" cannot be changed here")),
    }
}

/// The format of a text with this name.
pub(crate) fn format(name: &str) -> Result<SourceFormat> {
    let known: Vec<_> = SourceFormat::all().map(|format| (format.name(), format)).collect();
    named("`format`", name, &known)
}

/// Changes a setting. The keys are those of a source in a request; `arches` is a list with commas, `strict` and `crun` are
/// `true` or `false`, and `machine` is an architecture. Each `define` and `undefine` adds a macro.
///
/// # Errors
/// For an unknown key or value.
pub(crate) fn set_reading(reading: &mut Reading, key: &str, value: &str) -> Result<()> {
    match key {
        "machine" => reading.machine = arch("machine", value)?,
        "arches" => {
            let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
            reading.arches = names.map(|name| arch("architecture", name)).collect::<Result<_>>()?;
        }
        "kernel" => reading.kernel = Some(parsed(key, value)?),
        "caps" => reading.caps = Some(parsed(key, value)?),
        "systemd" => reading.systemd = Some(parsed(key, value)?),
        "minijail_semantics" => {
            let semantics = named("`minijail_semantics`", value, &Semantics::ALL)?;
            reading.minijail_semantics = Some(semantics);
        }
        "strict" => reading.strict = named("`strict`", value, &[("true", true), ("false", false)])?,
        "enosys_above" => {
            let known = [
                ("on", EnosysAbove::On),
                ("runc-1.1", EnosysAbove::Runc1_1),
                ("off", EnosysAbove::Off),
            ];
            reading.enosys_above = Some(named("`enosys_above`", value, &known)?);
        }
        "libseccomp" => reading.libseccomp = Some(parsed(key, value)?),
        // Given settings win, whatever their order is.
        "runc" => {
            let version: RuncVersion = parsed(key, value)?;
            reading.enosys_above.get_or_insert(version.enosys_above());
            reading.libseccomp.get_or_insert(version.libseccomp());
        }
        "crun" => {
            if named("`crun`", value, &[("true", true), ("false", false)])? {
                reading.enosys_above.get_or_insert(EnosysAbove::Off);
            }
        }
        "endian" => {
            let known = [("little", Endian::Little), ("big", Endian::Big)];
            reading.endian = Some(named("`endian`", value, &known)?);
        }
        "define" | "undefine" => {
            let read =
                if key == "define" { Definition::new(value) } else { Definition::undefined(value) };
            let wrong = |error| Diagnostic::error(None, format!("`{key}`: {error}"));
            reading.definitions.push(read.map_err(wrong)?);
        }
        _ => return Err(unknown(key, OF_SOURCE)),
    }
    Ok(())
}

/// Changes a setting of a source: `name`, `format`, `part`, or how it is read, with the keys of a source in a request; `arches` is
/// a list with commas, `strict` is `true` or `false`, and `machine` is an architecture. Each `define` and `undefine` adds a
/// macro.
///
/// # Errors
/// For an unknown key or value.
pub fn set(source: &mut SourceText, key: &str, value: &str) -> Result<()> {
    match key {
        "name" => value.clone_into(&mut source.name),
        "format" => source.format = Some(format(value)?),
        "part" => source.part = Some(value.to_owned()),
        _ => return set_reading(&mut source.reading, key, value),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_values_of_requests() {
        let mut reading = Reading::new(Arch::X86_64);
        set_reading(&mut reading, "arches", "x86_64, SCMP_ARCH_X86").unwrap();
        assert_eq!(reading.arches, [Arch::X86_64, Arch::X86]);
        set_reading(&mut reading, "strict", "true").unwrap();
        assert!(reading.strict);
        for (key, value) in [("define", "A"), ("define", "B=2"), ("undefine", "C")] {
            set_reading(&mut reading, key, value).unwrap();
        }
        let read: Vec<_> =
            reading.definitions.iter().map(|one| (one.name(), one.value())).collect();
        assert_eq!(read, [("A", Some("1")), ("B", Some("2")), ("C", None)]);
        assert!(set_reading(&mut reading, "define", "2=3").is_err());
        let error = set_reading(&mut reading, "strict", "yes").unwrap_err();
        assert_eq!(error.message, "unknown `strict` \"yes\"");
        let error = set_reading(&mut reading, "kernal", "6.12").unwrap_err();
        assert_eq!(error.help, "did you mean \"kernel\"?");
    }

    #[test]
    fn a_runtime_has_its_libseccomp_and_its_rule_unless_these_are_given() {
        let of = |settings: &[(&str, &str)]| {
            let mut reading = Reading::new(Arch::X86_64);
            settings.iter().for_each(|(key, value)| set_reading(&mut reading, key, value).unwrap());
            (reading.enosys_above, reading.libseccomp.map(|version| version.to_string()))
        };
        let older = (Some(EnosysAbove::Runc1_1), Some("2.5.4".to_owned()));
        assert_eq!(of(&[("runc", "1.1.12")]), older);
        let given = (Some(EnosysAbove::Off), Some("2.6.0".to_owned()));
        let [rule, library] = [("enosys_above", "off"), ("libseccomp", "2.6.0")];
        assert_eq!(of(&[("runc", "1.1.12"), rule, library]), given);
        assert_eq!(of(&[rule, library, ("runc", "1.1.12")]), given);
        assert_eq!(of(&[("crun", "true")]), (Some(EnosysAbove::Off), None));
        assert_eq!(of(&[("crun", "false")]), (None, None));
        let mut reading = Reading::new(Arch::X86_64);
        assert!(set_reading(&mut reading, "runc", "9.0.0").is_err());
        assert!(set_reading(&mut reading, "libseccomp", "1").is_err());
    }

    #[test]
    fn each_setting_is_known() {
        let content = callgate::source::SourceContent::Preset("no-io-uring".to_owned());
        let mut source = SourceText::new(content, Reading::new(Arch::X86_64));
        for key in OF_SOURCE {
            let error = set(&mut source, key, "?").err().map(|error| error.message);
            assert!(!error.unwrap_or_default().starts_with("unknown setting"), "{key}");
        }
    }
}

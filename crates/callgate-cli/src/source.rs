//! Sources: everything that means a filter, `[FORMAT:]WHAT`.
//!
//! Without a format, the built-in name, the extensions `.bpf`, `.json`, `.yaml` and `.yml`, and then the
//! content decide: `{` and a quote, `---`, and a key of a profile or a Kubernetes resource begin a
//! profile, other text is a program as text, anything else is raw instructions. A name with a colon that
//! is not a format is a mistake, not a file; `./` in front of it makes it a file.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use callgate::bpf::{self, Program, asm};
use callgate::compile::{self, CompileError, Compiled};
use callgate::diagnostic::Diagnostic;
use callgate::diagram::{Func, Store};
use callgate::frontend::{self, Profile, oci};
use callgate::{Arch, Endian, stack};

use crate::options::{CompileOptions, SourceOptions, native_arch};
use crate::report::{self, Failure, Result};

/// The built-in profile.
pub(crate) const BUILT_IN: &str = "container-default";

/// The most that is read from a file. The largest profile in use has 60 kB, the largest program 32 kB.
const MAX_BYTES: u64 = 16 << 20;

/// What to do about a source that should be text and is not.
const RAW_HELP: &str = "a program in raw bytes is read as bpf:FILE";

/// The formats that can be named.
const FORMATS: &[(&str, Format)] = &[
    ("oci", Format::Profile(Some(oci::Dialect::Oci))),
    ("docker", Format::Profile(Some(oci::Dialect::Docker))),
    ("podman", Format::Profile(Some(oci::Dialect::Podman))),
    ("runc", Format::Profile(Some(oci::Dialect::Runc))),
    ("crun", Format::Profile(Some(oci::Dialect::Crun))),
    ("bpf", Format::Raw),
    ("bpftext", Format::Text),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Profile(Option<oci::Dialect>),
    Raw,
    Text,
}

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Stdin,
    File(PathBuf),
}

/// A source as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    BuiltIn,
    At { place: Place, format: Option<Format> },
}

/// What a source means.
pub(crate) struct Filter {
    /// The source, as messages name it.
    pub(crate) name: String,
    pub(crate) meaning: Meaning,
    /// Whether unknown names of calls are errors in what else is read for it.
    pub(crate) strict: bool,
}

pub(crate) enum Meaning {
    Profile(Box<Profile>),
    Program { program: Program, endian: Endian, arches: Vec<Arch> },
}

impl Place {
    /// A file, or standard input for `-`.
    pub(crate) fn of_path(path: &Path) -> Place {
        if path.as_os_str() == "-" { Place::Stdin } else { Place::File(path.to_owned()) }
    }

    /// As messages name it.
    pub(crate) fn name(&self) -> String {
        match self {
            Place::Stdin => "<stdin>".to_owned(),
            Place::File(path) => path.display().to_string(),
        }
    }

    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        /// Whether an input was read from standard input: there is one only.
        static STDIN_IS_TAKEN: AtomicBool = AtomicBool::new(false);
        if *self == Place::Stdin && STDIN_IS_TAKEN.swap(true, Ordering::Relaxed) {
            return Err(Failure::new("two inputs are to be read from standard input")
                .help("put one of them into a file"));
        }
        let mut bytes = Vec::new();
        let mut read = |reader: &mut dyn Read| reader.take(MAX_BYTES + 1).read_to_end(&mut bytes);
        let count = match self {
            Place::Stdin => read(&mut io::stdin().lock()),
            Place::File(path) => File::open(path).and_then(|mut file| read(&mut file)),
        };
        match count {
            Ok(count) if count as u64 > MAX_BYTES => {
                Err(Failure::about(self.name(), format!("larger than {} MiB", MAX_BYTES >> 20))
                    .help("profiles and programs are far smaller; is this the right file?"))
            }
            Ok(_) => Ok(bytes),
            Err(error) => Err(self.unreadable(&error)),
        }
    }

    /// Reads a text; `help` says what to do when it is none.
    pub(crate) fn read_text(&self, help: &str) -> Result<String> {
        self.text(self.read()?, help)
    }

    fn text(&self, bytes: Vec<u8>, help: &str) -> Result<String> {
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::about(self.name(), format!("not text: byte {at} is no part of UTF-8"))
                .help(help)
        })
    }

    fn unreadable(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::NotFound => Failure::about(self.name(), "no such file")
                .help("give the name of a file that exists, or - for standard input"),
            io::ErrorKind::IsADirectory => {
                Failure::about(self.name(), "is a directory").help("give the name of a file in it")
            }
            io::ErrorKind::PermissionDenied => Failure::about(self.name(), "permission denied")
                .help("make the file readable for this user (ls -l shows who may read it)"),
            _ => {
                let why = callgate_sys::error_text(error);
                Failure::about(self.name(), format!("cannot be read: {why}"))
            }
        }
    }
}

impl Source {
    /// Understands `[FORMAT:]WHAT`.
    pub(crate) fn parse(text: &OsStr) -> Result<Source> {
        if text == BUILT_IN {
            return Ok(Source { what: What::BuiltIn });
        }
        let bytes = text.as_bytes();
        let colon = bytes.iter().position(|byte| *byte == b':');
        let prefix = colon.and_then(|at| std::str::from_utf8(&bytes[..at]).ok());
        let (format, rest) = match (prefix, colon) {
            (Some(prefix), Some(at)) if is_word(prefix) => {
                let known = FORMATS.iter().find(|(name, _)| *name == prefix);
                let Some((_, format)) = known else {
                    return Err(unknown_format(prefix, text));
                };
                (Some(*format), OsStr::from_bytes(&bytes[at + 1..]))
            }
            _ => (None, text),
        };
        if rest.is_empty() {
            return Err(Failure::new("the name of a source is empty")
                .help(format!("give a file, - for standard input, or {BUILT_IN}")));
        }
        let place = Place::of_path(Path::new(rest));
        Ok(Source { what: What::At { place, format } })
    }

    /// Whether it is read from standard input.
    pub(crate) fn is_stdin(&self) -> bool {
        matches!(&self.what, What::At { place: Place::Stdin, .. })
    }

    /// Reads it. Warnings are printed.
    pub(crate) fn read(&self, options: &SourceOptions) -> Result<Filter> {
        self.read_with_counts(options, false)
    }

    /// Reads what may be compiled with these options. Warnings are printed.
    pub(crate) fn read_to_compile(
        &self,
        options: &SourceOptions,
        compiling: &CompileOptions,
    ) -> Result<Filter> {
        self.read_with_counts(options, compiling.has_weights())
    }

    fn read_with_counts(&self, options: &SourceOptions, counts: bool) -> Result<Filter> {
        let filter = Filter { strict: options.strict, ..self.read_one(options)? };
        warn_about_unused(&[&filter], options, counts);
        Ok(filter)
    }

    /// Reads two with the same options. Warnings are printed.
    pub(crate) fn read_both(
        a: &Source,
        b: &Source,
        options: &SourceOptions,
    ) -> Result<(Filter, Filter)> {
        let (a, b) = (a.read_one(options)?, b.read_one(options)?);
        warn_about_unused(&[&a, &b], options, false);
        Ok((a, b))
    }

    /// Reads any number that may be compiled together with these options. Warnings are printed.
    pub(crate) fn read_all(
        sources: &[Source],
        options: &SourceOptions,
        compiling: &CompileOptions,
    ) -> Result<Vec<Filter>> {
        let filters: Vec<Filter> =
            sources.iter().map(|source| source.read_one(options)).collect::<Result<_>>()?;
        let counts = compiling.has_weights();
        warn_about_unused(&filters.iter().collect::<Vec<_>>(), options, counts);
        Ok(filters)
    }

    fn read_one(&self, options: &SourceOptions) -> Result<Filter> {
        let (place, format) = match &self.what {
            What::BuiltIn => {
                let options = options.of_profile(None)?;
                let profile = frontend::container_default(&options)
                    .map_err(|errors| Failure::of(BUILT_IN, errors))?;
                return Ok(Filter::of_profile(BUILT_IN.to_owned(), profile));
            }
            What::At { place, format } => (place, *format),
        };
        let bytes = place.read()?;
        let format = format.unwrap_or_else(|| detect(place, &bytes));
        match format {
            Format::Profile(dialect) => {
                let options = options.of_profile(dialect)?;
                let profile = oci::read(&place.text(bytes, RAW_HELP)?, &options)
                    .map_err(|errors| Failure::of(place.name(), errors))?;
                Ok(Filter::of_profile(place.name(), profile))
            }
            Format::Raw => {
                let endian = options.of_program()?;
                let program = Program::from_bytes(&bytes, endian)
                    .map_err(|error| not_a_program(place, &error))?;
                Filter::of_program(place.name(), program, endian, options)
            }
            Format::Text => {
                let given = options.of_program()?;
                let text = place.text(bytes, RAW_HELP)?;
                // Assembler text may know its byte order.
                let endian = asm::assemble_for(&text, given).map_or(given, |(_, own)| own);
                if endian != given && options.fixes_endian() {
                    return Err(Failure::about(place.name(), "`.endian` contradicts the options")
                        .help("leave --endian and --arch out, or give what the text says"));
                }
                let raw = bpf::text::parse(&text, endian)
                    .map_err(|error| Failure::of(place.name(), error.into_diagnostics()))?;
                let program =
                    Program::from_raw(&raw).map_err(|error| not_a_program(place, &error))?;
                Filter::of_program(place.name(), program, endian, options)
            }
        }
    }
}

/// Says which options none of these filters needs.
fn warn_about_unused(filters: &[&Filter], options: &SourceOptions, counts: bool) {
    let profile = filters.iter().any(|filter| filter.is_profile());
    let program = filters.iter().any(|filter| !filter.is_profile());
    options.warn_about_unused(profile, program, counts);
}

/// Names of formats are words of small letters and digits; anything else before a colon belongs to the
/// name of a file.
fn is_word(prefix: &str) -> bool {
    !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn unknown_format(prefix: &str, text: &OsStr) -> Failure {
    let names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
    Failure::new(format!("unknown format \"{prefix}\" in the source \"{}\"", text.display())).help(
        format!(
            "the formats are {}; for a file of this name write ./{}",
            names.join(", "),
            text.display()
        ),
    )
}

/// The format of what comes without one.
fn detect(place: &Place, bytes: &[u8]) -> Format {
    if let Place::File(path) = place {
        match path.extension().and_then(OsStr::to_str) {
            Some("bpf") => return Format::Raw,
            Some("json" | "yaml" | "yml") => return Format::Profile(None),
            _ => {}
        }
    }
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if let Some(inside) = rest.strip_prefix(b"{") {
        // A row of `tcpdump -dd` begins with a brace too, and goes on with a number.
        rest = inside.trim_ascii_start();
        if !rest.first().is_some_and(u8::is_ascii_alphanumeric) {
            return Format::Profile(None);
        }
    }
    let is_text = bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace());
    if rest.is_empty() || rest.starts_with(b"[") {
        // Nothing at all, or other JSON: the reader of profiles says so best.
        Format::Profile(None)
    } else if is_text && is_yaml(rest) {
        Format::Profile(None)
    } else if is_text {
        Format::Text
    } else {
        Format::Raw
    }
}

/// Whether the first line that says something begins a profile in YAML. A word and a colon may be a label
/// of assembler text too, so the word must be a key with which such files begin.
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

/// Why the kernel would refuse these instructions.
pub(crate) fn not_a_program(place: &Place, error: &bpf::ProgramError) -> Failure {
    /// Where one thing is wrong with a program, everything may be.
    const SHOWN: usize = 5;
    let violations = error.violations();
    let mut messages: Vec<Diagnostic> = violations
        .iter()
        .take(SHOWN)
        .map(|violation| Diagnostic::error(None, violation.to_string()))
        .collect();
    if let Some(more @ 1..) = violations.len().checked_sub(SHOWN) {
        messages.push(Diagnostic::error(None, format!("and {more} more violations")));
    }
    if let (Some(hint), Some(last)) = (error.hint(), messages.last_mut()) {
        last.help = hint.to_owned();
    }
    Failure::of(place.name(), messages)
}

impl Filter {
    fn of_profile(name: String, profile: Profile) -> Filter {
        report::warn_all(&name, &profile.warnings);
        Filter { name, meaning: Meaning::Profile(Box::new(profile)), strict: false }
    }

    fn of_program(
        name: String,
        program: Program,
        endian: Endian,
        options: &SourceOptions,
    ) -> Result<Filter> {
        let mut arches = options.arch.clone();
        if arches.is_empty() {
            arches = arches_in(&program, endian);
        }
        if arches.is_empty() {
            arches = vec![native_arch()?];
        }
        let meaning = Meaning::Program { program, endian, arches };
        Ok(Filter { name, meaning, strict: false })
    }

    fn is_profile(&self) -> bool {
        matches!(self.meaning, Meaning::Profile(_))
    }

    /// The architectures that it is about.
    pub(crate) fn arches(&self) -> Vec<Arch> {
        match &self.meaning {
            Meaning::Profile(profile) => profile.policy.arches().collect(),
            Meaning::Program { arches, .. } => arches.clone(),
        }
    }

    /// The program that it means; a profile is compiled.
    pub(crate) fn program(&self, options: &CompileOptions) -> Result<Cow<'_, Program>> {
        match &self.meaning {
            Meaning::Profile(_) => Ok(Cow::Owned(self.compile(options)?.program)),
            Meaning::Program { program, .. } => {
                if options.has_weights() {
                    report::warn_about(
                        &self.name,
                        "--weights has no effect: this is a program already",
                        "`callgate compile` makes a new program of it first",
                    );
                }
                Ok(Cow::Borrowed(program))
            }
        }
    }

    /// Compiles what it means, a profile or a program; the result is proved.
    pub(crate) fn compile(&self, options: &CompileOptions) -> Result<Compiled> {
        let options = options.read(&self.arches(), self.strict)?;
        self.try_compile(&options).map_err(|error| failed(&self.name, &error))
    }

    /// The same with options that were read.
    pub(crate) fn try_compile(
        &self,
        options: &compile::Options,
    ) -> std::result::Result<Compiled, CompileError> {
        match &self.meaning {
            Meaning::Profile(profile) => compile::compile(&profile.policy, options),
            Meaning::Program { program, endian, arches } => {
                compile::recompile(program, *endian, arches, options)
            }
        }
    }

    /// Its diagram.
    pub(crate) fn diagram(&self, store: &mut Store) -> Result<Func> {
        match &self.meaning {
            Meaning::Profile(profile) => store.policy(&profile.policy),
            Meaning::Program { program, endian, .. } => store.program(program, *endian),
        }
        .map_err(|error| Failure::about(&self.name, error.to_string()))
    }

    /// Warns when a program compares its arch, but with none of those that --arch gives.
    pub(crate) fn warn_about_arches(&self) {
        let Meaning::Program { program, endian, arches } = &self.meaning else { return };
        let compared = arches_in(program, *endian);
        let meets = |arch: &Arch| arches.iter().any(|given| given.token() == arch.token());
        if !compared.is_empty() && !compared.iter().any(meets) {
            let names = |arches: &[Arch]| {
                arches.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(", ")
            };
            let (own, given) = (names(&compared), names(arches));
            report::warn_about(
                &self.name,
                format!("this program is for {own}, not for {given}"),
                "--arch says whose calls are weighed and named; a program means the same with any",
            );
        }
    }

    /// The filter as a part of a stack.
    pub(crate) fn of_stack(&self) -> stack::Filter<'_> {
        match &self.meaning {
            Meaning::Profile(profile) => stack::Filter::profile(profile),
            Meaning::Program { program, endian, .. } => stack::Filter::program(program, *endian),
        }
    }

    /// The byte order of the machines that it is for.
    pub(crate) fn endian(&self) -> Endian {
        match &self.meaning {
            Meaning::Profile(profile) => profile.policy.endian(),
            Meaning::Program { endian, .. } => *endian,
        }
    }
}

/// Why there is no program, with what to do about it.
pub(crate) fn failed(name: &str, error: &CompileError) -> Failure {
    Failure::about(name, error.to_string()).help(error.help().unwrap_or_default())
}

/// The architectures whose tokens a program compares something with. Good enough to name numbers by;
/// what the program means does not depend on it.
fn arches_in(program: &Program, endian: Endian) -> Vec<Arch> {
    let compared =
        |token| program.insns().iter().any(|insn| insn.op == bpf::Op::JeqK && insn.k == token);
    // x32 shares the token of x86_64; its numbers are looked up by themselves.
    Arch::ALL
        .iter()
        .copied()
        .filter(|arch| *arch != Arch::X32 && arch.endian() == endian && compared(arch.token()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> What {
        Source::parse(OsStr::new(text)).unwrap().what
    }

    fn file(path: &str, format: Option<Format>) -> What {
        What::At { place: Place::File(path.into()), format }
    }

    #[test]
    fn a_source_is_a_format_and_a_place() {
        assert_eq!(parse("container-default"), What::BuiltIn);
        assert_eq!(parse("-"), What::At { place: Place::Stdin, format: None });
        assert_eq!(parse("a.json"), file("a.json", None));
        assert_eq!(parse("bpf:-"), What::At { place: Place::Stdin, format: Some(Format::Raw) });
        assert_eq!(parse("crun:x:y"), file("x:y", Some(Format::Profile(Some(oci::Dialect::Crun)))));
        assert_eq!(parse("./odd:name"), file("./odd:name", None));
        assert_eq!(parse("C:name"), file("C:name", None));
        for wrong in ["pid:1", "kafel:x", "", "oci:"] {
            assert!(Source::parse(OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn content_tells_the_format() {
        let of = |bytes: &[u8]| detect(&Place::Stdin, bytes);
        assert_eq!(of(b" \n{ \"defaultAction\""), Format::Profile(None));
        assert_eq!(of(b"{}"), Format::Profile(None));
        assert_eq!(of(b"\xef\xbb\xbf{"), Format::Profile(None));
        assert_eq!(of(b""), Format::Profile(None));
        assert_eq!(of(b"[]"), Format::Profile(None));
        assert_eq!(of(b"{ 0x20, 0, 0, 4 },"), Format::Text);
        assert_eq!(of(b"2\n32 0 0 4\n6 0 0 0\n"), Format::Text);
        assert_eq!(of(&[6, 0, 0, 0, 0, 0, 0xff, 0x7f]), Format::Raw);
        assert_eq!(detect(&Place::File("x.bpf".into()), b"{}"), Format::Raw);
        assert_eq!(detect(&Place::File("x.json".into()), b"null"), Format::Profile(None));
    }

    #[test]
    fn yaml_is_told_from_assembler_text() {
        let of = |text: &str| detect(&Place::Stdin, text.as_bytes());
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
            assert_eq!(of(yaml), Format::Profile(None), "{yaml}");
        }
        for text in [
            "start: ld [0]\nret #0\n",
            "# spec: a comment\nyes: ret ALLOW\n",
            "kind:ret ALLOW\n",
            "; ---\nret ALLOW\n",
            "#\n",
            "0: ld arch\n",
        ] {
            assert_eq!(of(text), Format::Text, "{text}");
        }
        let file = |name: &str| detect(&Place::File(name.into()), b"start: ld [0]");
        assert_eq!(file("x.yaml"), Format::Profile(None));
        assert_eq!(file("x.yml"), Format::Profile(None));
        assert_eq!(file("x.asm"), Format::Text);
    }
}

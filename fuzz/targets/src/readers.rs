//! Readers take any input: the result is a value or messages, never a panic, and no work beyond their limits.

use callgate::lint::{Subject, lint};
use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::syscalls::KernelVersion;
use callgate_bpf::text::{TextOptions, parse_program};
use callgate_core::{LongProgram, SocketProgram};
use callgate_formats::kafel::Included;
use callgate_formats::languages::{
    self, Files, Input, LANGUAGES, Language, ReadFilter, Reading, SourceFiles, Text,
};
use callgate_formats::oci;
use callgate_formats::systemd::{self, SystemdVersion, UnitText};
use callgate_formats::why::{Cause, why};

const DIALECTS: [Option<oci::Dialect>; 6] = [
    None,
    Some(oci::Dialect::Oci),
    Some(oci::Dialect::Docker),
    Some(oci::Dialect::Podman),
    Some(oci::Dialect::Runc),
    Some(oci::Dialect::Crun),
];

/// A container profile in JSON or YAML; the first byte chooses the dialect.
pub fn profile(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let mut options = oci::ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 18 });
    options.dialect = DIALECTS[usize::from(*first) % DIALECTS.len()];
    options.statements = true;
    match oci::read(&String::from_utf8_lossy(text), &options) {
        Ok(profile) => {
            if let Err(error) = lint(&[Subject::profile(&profile)], &[Arch::X86_64, Arch::X86]) {
                assert!(!error.to_string().contains("defect"), "{error}");
            }
            let section = profile.policy.sections().first().expect("an architecture");
            let statements = profile.statements.expect("they were asked for");
            for nr in 0..16 {
                let data = SeccompData { nr, arch: section.token(), ..SeccompData::default() };
                let found = why(&profile.policy, &statements, &data, None);
                if let Cause::Default(_) = found.cause {
                    assert_eq!(found.verdict, section.default, "{data:?}");
                }
            }
        }
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// A source in any language of the registry, which the first line chooses: a name, or any text. What it looks like is detected,
/// too.
pub fn language(input: &[u8]) {
    let line = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (name, text) = input.split_at(line);
    let named = LANGUAGES.iter().position(|language| language.names[0].name.as_bytes() == name);
    let any = name.iter().map(|byte| usize::from(*byte)).sum::<usize>() % LANGUAGES.len();
    let _ = languages::detect(None, text);
    read_in(
        LANGUAGES[named.unwrap_or(any)],
        &[],
        &Input::of(&[Text::of(&String::from_utf8_lossy(text))]),
    );
}

/// Architectures of a source.
const ARCHES: [Arch; 8] = [
    Arch::X86_64,
    Arch::Aarch64,
    Arch::Riscv64,
    Arch::S390x,
    Arch::X86,
    Arch::Arm,
    Arch::Mips64,
    Arch::Mipsel64,
];

/// A source in a language. The first byte chooses the architectures: one, and perhaps x86_64 and x32 with it. From 128 on, the first line
/// is the name of the part. Zero bytes separate the texts of a source that may have several files, each of which has a role.
pub fn in_language(language: &Language, input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let mut arches = vec![ARCHES[usize::from(*first) % ARCHES.len()]];
    if first & 8 != 0 {
        arches.push(ARCHES[0]);
    }
    if first & 16 != 0 {
        arches.push(Arch::X32);
    }
    arches.sort_unstable();
    arches.dedup();
    let part_end = text.iter().position(|byte| *byte == b'\n').filter(|_| first & 0x80 != 0);
    let (part, text) = match part_end {
        Some(end) => (Some(String::from_utf8_lossy(&text[..end])), &text[end + 1..]),
        None => (None, text),
    };
    let texts: Vec<_> = match language.files {
        SourceFiles::One => vec![String::from_utf8_lossy(text)],
        _ => text.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect(),
    };
    let role = |at: usize| match language.files {
        SourceFiles::One => "",
        SourceFiles::DropIns { role } => role,
        SourceFiles::Directory { roles } => roles.get(at).copied().unwrap_or_default(),
    };
    let texts =
        texts.iter().enumerate().map(|(at, text)| Text { role: role(at), ..Text::of(text) });
    let texts: Vec<Text<'_>> = texts.collect();
    read_in(language, &arches, &Input { part: part.as_deref(), ..Input::of(&texts) });
}

/// Reads texts, which may include the first of them and an empty file.
fn read_in(language: &Language, arches: &[Arch], input: &Input<'_>) {
    let Some(first) = input.texts.first() else { return };
    let kernel = KernelVersion { major: 6, minor: 18 };
    let reading = Reading {
        arches: arches.to_vec(),
        kernel: Some(kernel),
        statements: true,
        ..Reading::new(Arch::X86_64)
    };
    match (language.read)(input, &reading, &mut TextAndEmpty(first.text)) {
        Ok(read) => {
            assert_eq!(
                read.filters.is_empty(),
                read.missing.is_some(),
                "a filter, or why there is none"
            );
            let is_empty = |filter: &ReadFilter| filter.profile.policy.sections().is_empty();
            assert!(!read.filters.iter().any(is_empty), "a filter for no architecture");
            assert!(read.warnings.iter().all(|warning| warning.file < input.texts.len()));
        }
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// The files that a policy with this text may name.
struct TextAndEmpty<'t>(&'t str);

impl Files for TextAndEmpty<'_> {
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        included(self.0)(name, from)
    }

    fn include_if_present(
        &mut self,
        name: &str,
        from: Option<&str>,
    ) -> Result<Option<Included>, String> {
        Ok(included(self.0)(name, from).ok())
    }

    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        included(self.0)(name, from)
    }
}

/// systemd units. The first byte chooses the form and the version; zero bytes separate the unit from its drop-ins.
pub fn unit(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let form = [UnitText::unit, UnitText::directives, UnitText::filter][usize::from(*first) % 3];
    let mut options = systemd::ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 1 });
    options.version =
        SystemdVersion::all().nth(usize::from(*first) / 3 % 7).unwrap_or(options.version);
    options.strict = *first >= 128;
    let texts: Vec<_> = text
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    let texts: Vec<UnitText<'_>> = texts.iter().map(|text| form(text)).collect();
    match systemd::read(&texts, &options) {
        Ok(unit) => {
            let execve =
                SeccompData { nr: 59, arch: Arch::X86_64.token(), ..SeccompData::default() };
            let verdicts = unit.filters.iter().rev().map(|filter| filter.policy.evaluate(&execve));
            assert_eq!(unit.evaluate(&execve), Verdict::of_stack(verdicts));
            assert!(unit.warnings.iter().all(|warning| warning.file < texts.len()));
        }
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// The files that a policy with this text may include.
fn included(text: &str) -> impl FnMut(&str, Option<&str>) -> Result<Included, String> {
    move |name, _| {
        let identity = name.trim_start_matches("./").to_owned();
        let text = match identity.as_str() {
            "self" => text.to_owned(),
            "empty" => String::new(),
            _ => return Err("no such file".to_owned()),
        };
        Ok(Included { name: name.to_owned(), identity, text, is_private: false })
    }
}

/// A program as text, in any form.
pub fn program_text(input: &[u8]) {
    let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64);
    match parse_program(&String::from_utf8_lossy(input), &options) {
        Ok(program) => {
            let _ = LongProgram::from_raw(&program.insns);
        }
        Err(error) => assert!(!error.into_diagnostics().is_empty(), "refused without a message"),
    }
}

/// A program in raw bytes.
pub fn program_bytes(input: &[u8]) {
    for endian in [Endian::Little, Endian::Big] {
        if let Ok(program) = LongProgram::from_bytes(input, endian) {
            assert_eq!(program.to_bytes(endian), input);
        }
        let _ = SocketProgram::from_bytes(input, endian);
    }
}

/// A recording or a log of another tool.
pub fn recording(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let options =
        callgate_trace::read::ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
    if let Ok(log) = callgate_trace::read::read(&text, &options) {
        let again = log.recording.to_json();
        let read = callgate_trace::read::read(&again, &options)
            .expect("a recording that was written is read");
        assert_eq!(read.recording.total(), log.recording.total());
    }
}

/// Counts of syscalls, the same in one piece and in several.
pub fn counts(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let whole = callgate_trace::counts::read(&text, Arch::X86_64, false);
    let mut reader = callgate_trace::counts::CountReader::new(Arch::X86_64, false);
    let in_pieces = text
        .as_bytes()
        .chunks(7)
        .try_for_each(|piece| reader.push(piece))
        .and_then(|()| reader.finish());
    assert_eq!(whole.is_ok(), in_pieces.is_ok());
}

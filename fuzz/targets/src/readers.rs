//! Readers take any input: the result is a value or messages, never a panic, and no work beyond their limits.

use callgate::lint::{Subject, lint};
use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::syscalls::KernelVersion;
use callgate_bpf::text::{TextOptions, parse_program};
use callgate_core::{LongProgram, SocketProgram};
use callgate_formats::android::{self, ListKind, ListText};
use callgate_formats::firecracker;
use callgate_formats::kafel::{self, Included};
use callgate_formats::languages::{self, Files, Input, LANGUAGES, Reading, Text};
use callgate_formats::lxc;
use callgate_formats::minijail;
use callgate_formats::oci;
use callgate_formats::snap;
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

/// A text in any language of the registry, which the first line chooses: a name, or any text. The text may include itself and
/// an empty file. What it looks like is detected, too.
pub fn language(input: &[u8]) {
    let line = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (name, text) = input.split_at(line);
    let named = LANGUAGES.iter().position(|language| language.names[0].name.as_bytes() == name);
    let any = name.iter().map(|byte| usize::from(*byte)).sum::<usize>() % LANGUAGES.len();
    let language = LANGUAGES[named.unwrap_or(any)];
    let _ = languages::detect(None, text);
    let text = String::from_utf8_lossy(text);
    let kernel = KernelVersion { major: 6, minor: 18 };
    let reading = Reading { kernel: Some(kernel), statements: true, ..Reading::new(Arch::X86_64) };
    let texts = [Text::of(&text)];
    match (language.read)(&Input::of(&texts), &reading, &mut TextAndEmpty(&text)) {
        Ok(read) => {
            assert_eq!(
                read.filters.is_empty(),
                read.missing.is_some(),
                "a filter, or why there is none"
            );
            assert!(read.warnings.iter().all(|warning| warning.file == 0));
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

    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        included(self.0)(name, from)
    }
}

/// Units of systemd. The first byte chooses the form and the version; zero bytes separate the unit from its drop-ins.
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

/// A document of Firecracker. The first byte chooses the architecture and whether a thread is given.
pub fn firecracker(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let arch = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64][usize::from(*first) % 3];
    let mut options = firecracker::ReadOptions::new(arch);
    options.thread = (*first >= 128).then(|| "vmm".to_owned());
    match firecracker::read(&String::from_utf8_lossy(text), &options) {
        Ok(profile) => assert_eq!(profile.policy.sections().len(), 1),
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// A Kafel policy; it may include itself and an empty file. The first byte chooses the architectures.
pub fn kafel(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let arches: &[Arch] = match first % 4 {
        0 => &[Arch::X86_64],
        1 => &[Arch::X86],
        2 => &[Arch::X86_64, Arch::X32, Arch::Aarch64],
        _ => &[Arch::Mips64],
    };
    let text = String::from_utf8_lossy(text);
    let mut include = included(&text);
    let options = kafel::ReadOptions::for_arches(arches.to_vec());
    match kafel::read_with_includes(&text, &options, &mut include) {
        Ok(profile) => assert!(!profile.policy.sections().is_empty()),
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// A policy of minijail; it may include itself and an empty file. The first byte chooses the architecture.
pub fn minijail(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let arch = [Arch::X86_64, Arch::X86, Arch::Aarch64, Arch::Arm][usize::from(*first) % 4];
    let text = String::from_utf8_lossy(text);
    let options = minijail::ReadOptions::new(arch);
    match minijail::read_with_includes(&text, &options, &mut included(&text)) {
        Ok(policy) => assert_eq!(policy.profile.policy.sections().len(), 1),
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// A profile of LXC. The first byte chooses the host.
pub fn lxc(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let hosts = [Arch::X86_64, Arch::Aarch64, Arch::S390x, Arch::Riscv64];
    let options = lxc::ReadOptions::new(hosts[usize::from(*first) % hosts.len()]);
    match lxc::read(&String::from_utf8_lossy(text), &options) {
        Ok(profile) => assert!(!profile.policy.sections().is_empty()),
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

/// A profile of a snap. The first byte chooses the host.
pub fn snap(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let hosts = [Arch::X86_64, Arch::Aarch64, Arch::S390x];
    let options = snap::ReadOptions::new(hosts[usize::from(*first) % hosts.len()]);
    let mut ids = |_, name: &str| snap::system_id(name);
    match snap::read(&String::from_utf8_lossy(text), &options, &mut ids) {
        Ok(filters) => assert!(!filters.allow.sections().is_empty()),
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
    }
}

/// Lists of Android's C library. The first byte chooses the host and the filter; zero bytes separate the base, an allow list, a
/// block list and the priorities.
pub fn android(input: &[u8]) {
    let Some((first, texts)) = input.split_first() else { return };
    let hosts = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64, Arch::Mipsel64];
    let mut options = android::ReadOptions::new(hosts[usize::from(*first) % hosts.len()]);
    options.is_app_zygote = first & 0x80 != 0;
    let kinds = [ListKind::Base, ListKind::Allow, ListKind::Block, ListKind::Priority];
    let texts: Vec<_> =
        texts.splitn(kinds.len(), |byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let lists: Vec<ListText<'_>> =
        kinds.into_iter().zip(&texts).map(|(kind, text)| ListText::new(kind, text)).collect();
    match android::read(&lists, &options) {
        Ok(policy) => assert!(!policy.policy.sections().is_empty()),
        Err(messages) => assert!(!messages.is_empty(), "refused without a message"),
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

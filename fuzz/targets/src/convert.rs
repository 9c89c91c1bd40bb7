//! Conversions to all languages: what is written means the same, or permits no more.

use callgate::convert::{ConvertOptions, convert};
use callgate::{Arch, Description, Error, ErrorKind, Verdict};
use callgate_formats::languages::LanguageId;
use callgate_testing::languages::{self, ReadText};
use callgate_testing::random::{Constants, Rng};

/// How many syscalls are compared.
const SYSCALLS: usize = 40;

/// The architectures of a source.
const ARCHES: [&[Arch]; 4] = [
    &[Arch::X86_64],
    &[Arch::X86_64, Arch::X86, Arch::X32],
    &[Arch::Aarch64, Arch::Arm],
    &[Arch::S390x, Arch::S390],
];

/// A text in any language. The first byte chooses the language and the architectures.
pub fn convert_text(input: &[u8]) {
    let Some((first, text)) = input.split_first() else { return };
    let first = usize::from(*first);
    let languages: Vec<LanguageId> = LanguageId::written().collect();
    let language = languages[first % languages.len()];
    let arches = ARCHES[first / languages.len() % ARCHES.len()];
    let text = String::from_utf8_lossy(text);
    let Ok(source) = languages::read(language.name(), &text, arches) else { return };
    // The last filter of a stack.
    let Some(policy) = source.filters.last() else { return };
    let constants = Constants::of_policy(policy);
    for target in LanguageId::written() {
        let mut options = ConvertOptions::new(target);
        for closest in [false, true] {
            options.closest = closest;
            let converted = match convert(Description::policy(policy), &options) {
                Ok(converted) => converted,
                Err(error) => {
                    is_expected(&error);
                    continue;
                }
            };
            let (arches, enosys) = (&converted.arches, Some(converted.enosys_above));
            let read = languages::read_with(target.name(), &converted.text, arches, enosys);
            let written: ReadText = read.unwrap_or_else(|why| panic!("{why}\n{}", converted.text));
            let mut rng = Rng::new(1);
            for _ in 0..SYSCALLS {
                let data = constants.syscall(&mut rng);
                let (new, old) = (written.evaluate(&data), policy.evaluate(&data));
                let is_equal = new == old;
                // A systemd unit does not decide about the architectures of other machines.
                let is_stricter = target.name() == "systemd" || strictness(new) >= strictness(old);
                let is_right = if converted.losses.is_empty() { is_equal } else { is_stricter };
                assert!(is_right, "{target}: {old} -> {new} {data:x?}\n{}", converted.text);
            }
        }
    }
}

/// How much a verdict permits: less with a larger number.
fn strictness(verdict: Verdict) -> usize {
    const ORDER: [u32; 4] = [0x7fff_0000, 0x7ffc_0000, 0x7ff0_0000, 0x7fc0_0000];
    ORDER.iter().position(|action| verdict.0 & 0xffff_0000 == *action).unwrap_or(ORDER.len())
}

/// A target may be unable to express a filter; a defect is never expected.
fn is_expected(error: &Error) {
    let text = error.to_string();
    let is_defect = match error.kind() {
        ErrorKind::Convert(error) => error.is_defect() || text.contains(" rejects the policy"),
        ErrorKind::Diagram(error) => !error.is_out_of_budget(),
        _ => true,
    };
    assert!(!is_defect, "{text}");
}

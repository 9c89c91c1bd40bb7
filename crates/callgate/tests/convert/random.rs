//! Random policies in every language: what is written means the same, what is lost is an example of the policy, and the
//! nearest policy permits no more.
//!
//! Beside the proof that every conversion makes, the text is read with the reader of the language and compared with the rules
//! of the policy, syscall by syscall.

use callgate::convert::{ConvertOptions, Converted, Loss, convert};
use callgate::{Arch, Error, ErrorKind, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::SyscallSet;
use callgate_core::diagram::Store;
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_formats::languages::LanguageId;
use callgate_formats::systemd::{SystemdVersion, build_arches};
use callgate_testing::languages::{self, ReadText};
use callgate_testing::random::{Constants, Rng, cases, named_policies, policies};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;

use super::support::{closest_options, has_no_policy, is_too_complex};

/// How many syscalls are compared.
const SYSCALLS: usize = 200;

/// How much a verdict permits, in the order of `docs/reference/convert.md`: less with a larger number.
fn strictness(verdict: Verdict) -> usize {
    const ORDER: [u32; 4] = [0x7fff_0000, 0x7ffc_0000, 0x7ff0_0000, 0x7fc0_0000];
    ORDER.iter().position(|action| verdict.0 & 0xffff_0000 == *action).unwrap_or(ORDER.len())
}

/// What a conversion returns: the result, what the language cannot express, or nothing if the policy is too complex or every
/// policy would permit more.
fn outcome(result: Result<Converted, Error>) -> Result<Result<Converted, Vec<Loss>>, String> {
    let error = match result {
        Ok(converted) => return Ok(Ok(converted)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::Convert(error) if !error.losses().is_empty() => Ok(Err(error.losses().to_vec())),
        _ => Err(error.to_string()),
    }
}

fn read(target: LanguageId, converted: &Converted) -> Result<ReadText, TestCaseError> {
    let (arches, enosys) = (&converted.arches, Some(converted.enosys_above));
    let read = languages::read_with(target.name(), &converted.text, arches, enosys);
    read.map_err(|messages| TestCaseError::fail(format!("{messages}\n{}", converted.text)))
}

/// The syscalls that are compared.
fn syscalls(policy: &Policy, seed: u64) -> Vec<SeccompData> {
    let (constants, mut rng) = (Constants::of_policy(policy), Rng::new(seed));
    (0..SYSCALLS).map(|_| constants.syscall(&mut rng)).collect()
}

fn survives(policy: &Policy, target: LanguageId, seed: u64) -> Result<(), TestCaseError> {
    let exact = match outcome(convert(policy, &ConvertOptions::new(target))) {
        Ok(outcome) => outcome,
        Err(why) => return expected_error(&why),
    };
    match &exact {
        Ok(converted) => {
            let written = read(target, converted)?;
            let mut store = Store::default();
            let own = store.policy(policy).unwrap();
            prop_assert_eq!(written.diagram(&mut store).unwrap(), own, "{}", converted.text);
            for data in syscalls(policy, seed) {
                let (new, old) = (written.evaluate(&data), policy.evaluate(&data));
                prop_assert_eq!(new, old, "{:x?}\n{}", data, converted.text);
            }
        }
        Err(losses) => losses.iter().try_for_each(|loss| is_an_example(policy, loss))?,
    }
    match outcome(convert(policy, &closest_options(target))) {
        Ok(Ok(converted)) => {
            prop_assert_eq!(converted.losses.is_empty(), exact.is_ok());
            permits_no_more(policy, target, &converted, seed)
        }
        Ok(Err(losses)) => Err(TestCaseError::fail(format!("--closest is refused: {losses:?}"))),
        Err(why) => expected_error(&why),
    }
}

fn expected_error(why: &str) -> Result<(), TestCaseError> {
    prop_assert!(is_too_complex(why) || has_no_policy(why), "{}", why);
    Ok(())
}

/// A loss is about a syscall of the policy with the verdict of the policy, and changes this verdict.
fn is_an_example(policy: &Policy, loss: &Loss) -> Result<(), TestCaseError> {
    let Some(example) = loss.example else {
        return Err(TestCaseError::fail(format!("no example: {loss:?}")));
    };
    prop_assert_eq!(policy.evaluate(&example.data), example.source, "{:?}", loss);
    prop_assert!(example.source != example.written, "{:?}", loss);
    let named = example.arch().and_then(|arch| Some((arch, arch.syscall_name(example.data.nr)?)));
    prop_assert!(named.is_none_or(|named| loss.syscalls.contains(&named)), "{:?}", loss);
    for (arch, name) in &loss.syscalls {
        prop_assert!(arch.number(name).is_some(), "{:?}", loss);
    }
    Ok(())
}

/// The architectures that the filter of a language decides about.
fn decides(target: LanguageId, converted: &Converted, token: u32) -> bool {
    let local = || build_arches(converted.arches[0], SystemdVersion::LATEST);
    target.name() != "systemd" || local().iter().any(|arch: &Arch| arch.token() == token)
}

fn permits_no_more(
    policy: &Policy,
    target: LanguageId,
    converted: &Converted,
    seed: u64,
) -> Result<(), TestCaseError> {
    let written = read(target, converted)?;
    let examples = converted.losses.iter().filter_map(|loss| Some(loss.example?.data));
    for data in syscalls(policy, seed).into_iter().chain(examples) {
        let (new, old) = (written.evaluate(&data), policy.evaluate(&data));
        let is_as_strict = strictness(new) >= strictness(old);
        let is_decided = decides(target, converted, data.arch);
        prop_assert!(is_as_strict || !is_decided, "{old} -> {new} {data:x?}\n{}", converted.text);
        if converted.losses.is_empty() {
            prop_assert_eq!(new, old, "{:x?}\n{}", data, converted.text);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(50))]

    #[test]
    fn policies_as_people_write_them_survive_or_get_stricter(
        policy in named_policies(5),
        target in select(LanguageId::written().collect::<Vec<_>>()),
        seed in any::<u64>(),
    ) {
        survives(&policy, target, seed)?;
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn any_policies_survive_or_get_stricter(
        policy in policies(5),
        target in select(LanguageId::written().collect::<Vec<_>>()),
        seed in any::<u64>(),
    ) {
        survives(&policy, target, seed)?;
    }
}

/// Groups of systemd contain `send`, which only `socketcall` reaches on x86.
#[test]
fn a_group_that_also_says_something_about_socketcall() {
    let allow = |data: u32| Verdict(0x7fff_0000 | data);
    let x86_64 = Section::new(Arch::X86_64, vec![], allow(0)).and_arch(Arch::X32).unwrap();
    let syscalls = SyscallSet::range(103, 417);
    let named = Rule { syscalls, when: Condition::always(), verdict: allow(0) };
    let x86 = Section::new(Arch::X86, vec![named], allow(1));
    let policy = Policy::new(vec![x86_64, x86], Verdict(0)).unwrap();
    for target in LanguageId::written() {
        survives(&policy, target, 1).unwrap_or_else(|error| panic!("{}: {error}", target.name()));
    }
}

//! A few hundred random profiles, and regressions found by more of them.

use callgate_profile_fuzz::generate::{Case, case};
use callgate_profile_fuzz::json::Json;
use callgate_profile_fuzz::judge::{Difference, Judgement, judge};
use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::runtime::{Dialect, Host, Runc};

#[test]
fn random_profiles_mean_what_the_evaluator_says() {
    let (mut calls, mut refused) = (0, 0);
    for number in 0..600 {
        let case = case(7, number);
        match judge(&case) {
            Judgement::Same { calls: made } => calls += made,
            Judgement::BothRefuse => refused += 1,
            Judgement::RefusedInDoubt(_) | Judgement::Undecided => {}
            Judgement::Differs(difference) => panic!("{number}: {difference}\n{}", case.profile),
        }
    }
    assert!(calls > 50_000 && refused > 30, "{calls} calls, {refused} refused");
}

fn judged(dialect: Dialect, native: Machine, profile: &str) -> Judgement {
    let host = Host { dialect, native, caps: Vec::new(), kernel: (6, 18), runc: Runc::All };
    judge(&Case { host, profile: Json::read(profile).unwrap() })
}

#[test]
fn conditions_of_equal_rank_decide_in_the_order_of_the_profile() {
    let arg = |value: u64, op: &str| {
        format!(
            r#""args": [{{"index": 0, "value": {value}, "valueTwo": 1, "op": "SCMP_CMP_{op}"}}]"#
        )
    };
    let entry = |action: &str, args: String| {
        format!(r#"{{"names": ["personality"], "action": "SCMP_ACT_{action}", {args}}}"#)
    };
    let (mask, equal) = (arg(1, "MASKED_EQ"), arg(3, "EQ"));
    for [first, second] in [[&mask, &equal], [&equal, &mask]] {
        let entries = [entry("ALLOW", first.clone()), entry("LOG", second.clone())].join(", ");
        let text = format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{entries}]}}"#);
        for native in [Machine::X86_64, Machine::X86, Machine::S390x] {
            let judgement = judged(Dialect::Crun, native, &text);
            assert!(
                matches!(judgement, Judgement::Same { .. }),
                "{native:?} {judgement:?}\n{text}"
            );
        }
    }
}

#[test]
fn podman_refuses_an_errno_for_an_action_that_takes_none_as_crun_does() {
    let text = r#"{"defaultAction": "SCMP_ACT_ALLOW", "defaultErrnoRet": 1,
                   "syscalls": [{"names": ["getpgrp"], "action": "SCMP_ACT_ERRNO"}]}"#;
    for dialect in [Dialect::Podman, Dialect::Crun, Dialect::Oci] {
        assert_eq!(judged(dialect, Machine::X86_64, text), Judgement::BothRefuse, "{dialect:?}");
    }
    assert!(matches!(judged(Dialect::Docker, Machine::X86_64, text), Judgement::Same { .. }));
}

#[test]
fn arch_map_counts_where_the_programs_know_the_architecture() {
    let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
                   "archMap": [{"architecture": "SCMP_ARCH_PPC64", "subArchitectures": ["SCMP_ARCH_PPC"]}],
                   "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]}"#;
    for dialect in [Dialect::Docker, Dialect::Podman] {
        let judgement = judged(dialect, Machine::Ppc64, text);
        assert!(matches!(judgement, Judgement::Same { .. }), "{dialect:?} {judgement:?}");
    }
}

#[test]
fn a_listener_is_asked_for_only_by_entries_that_apply() {
    let text = r#"{"defaultAction": "SCMP_ACT_LOG", "syscalls": [{"names": ["write"],
                   "action": "SCMP_ACT_NOTIFY", "includes": {"minKernel": "7.0"}}]}"#;
    assert!(matches!(judged(Dialect::Docker, Machine::X86_64, text), Judgement::Same { .. }));
}

#[test]
fn a_difference_would_be_seen() {
    // With the numbers of another architecture, the same profile has another meaning.
    let text = r#"{"defaultAction": "SCMP_ACT_ERRNO",
                   "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]}"#;
    let host = |native| Host {
        dialect: Dialect::Crun,
        native,
        caps: Vec::new(),
        kernel: (6, 18),
        runc: Runc::All,
    };
    let program = callgate_profile_fuzz::judge::compiled(text, &host(Machine::Aarch64)).unwrap();
    let case = Case { host: host(Machine::X86_64), profile: Json::read(text).unwrap() };
    let judgement = callgate_profile_fuzz::judge::judge_program(&case, Ok(program));
    assert!(matches!(judgement, Judgement::Differs(Difference::Verdict { .. })), "{judgement:?}");
}

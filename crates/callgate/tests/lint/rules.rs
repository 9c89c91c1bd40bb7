//! Rules without effect.

use callgate::Arch;
use callgate::lint::{Check, Subject, lint};
use callgate_formats::kafel;

use super::{entry, found, line, only};

/// As many rules as a search for a covering rule per rule could not compare.
#[test]
fn many_overlapping_rules_are_examined() {
    let ranges: Vec<String> = (0..3000)
        .map(|i| format!("ALLOW {{ ioctl {{ cmd >= {} && cmd <= {} }} }}", 2 * i, 2 * i + 3))
        .collect();
    let text = format!("{} DEFAULT KILL", ranges.join(", "));
    let options = kafel::ReadOptions { statements: true, ..kafel::ReadOptions::new(Arch::X86_64) };
    let profile = kafel::read(&text, &options).unwrap();
    let all = lint(&[Subject::profile(&profile)], &[Arch::X86_64]).unwrap();
    let covered = all
        .iter()
        .filter(|one| one.check == Check::ConditionWithoutEffect || one.check == Check::Duplicate);
    // Every other rule is covered by its neighbours.
    assert!(covered.count() > 1000);
}

#[test]
fn rules_without_effect() {
    let always = entry(&["personality"], "ALLOW", &[]);
    let some = entry(&["personality"], "ALLOW", &[(0, "EQ", 8, 0)]);
    let finding = only(found("ERRNO", &[&always, &some], Check::ConditionWithoutEffect), 3);
    assert!(finding.message.contains("at 2:12"), "{}", finding.message);
    assert_eq!(found("ERRNO", &[&some], Check::ConditionWithoutEffect), []);
    let other = entry(&["personality"], "ALLOW", &[(0, "EQ", 9, 0)]);
    assert_eq!(found("ERRNO", &[&other, &some], Check::ConditionWithoutEffect), []);
    assert_eq!(found("ERRNO", &[&other, &some], Check::Duplicate), []);

    assert_eq!(
        only(found("ERRNO", &[&always, &always], Check::Duplicate), 3).syscalls,
        ["personality"]
    );
    assert_eq!(found("ERRNO", &[&always], Check::Duplicate), []);
    // Three that cover each other in part.
    let range = |first: u64, last: u64| {
        entry(&["dup"], "ALLOW", &[(0, "GE", first, 0), (1, "LE", last, 0)])
    };
    assert_eq!(found("ERRNO", &[&range(1, 5), &range(2, 9)], Check::Duplicate), []);

    let log = entry(&["mount"], "LOG", &[]);
    let errno = "{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 5}";
    let overruled = found("KILL", &[&log, errno], Check::Overruled);
    let at: Vec<_> = overruled.iter().map(line).collect();
    assert_eq!(at.len(), 1, "{overruled:?}");

    let equal = entry(&["mount", "umount2"], "ERRNO", &[]);
    let finding = only(found("ERRNO", &[&always, &equal], Check::EqualsDefault), 3);
    assert_eq!(finding.syscalls, ["mount", "umount2"]);
    let exception = entry(&["personality"], "ERRNO", &[(0, "EQ", 8, 0)]);
    let finding = only(found("ERRNO", &[&always, &exception], Check::EqualsDefault), 3);
    assert!(finding.help.contains("exceptions"), "{finding:?}");
}

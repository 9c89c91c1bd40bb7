//! Warnings: profiles that are valid, but may not mean what was intended.

use callgate_formats::oci::{self, Dialect};

use crate::oci::support::{args, entry, lines, options, read, syscall, text};

/// The messages, with position and help, about one entry beside a valid one.
fn warnings_about(dialect: Dialect, names: &str, more: &str) -> String {
    let entries = [entry("close", "ALLOW", ""), entry(names, "ALLOW", more)];
    lines(&read(&entries, &options(dialect)).warnings)
}

#[test]
fn unknown_names_get_the_most_similar_known_one() {
    assert_eq!(
        warnings_about(Dialect::Docker, "opneat", ""),
        "Warning 1:111: no architecture has a syscall `opneat`; it is skipped (did you mean \
         `openat`?)\n"
    );
    assert_eq!(
        warnings_about(Dialect::Docker, "frobnicate_everything", ""),
        "Warning 1:111: no architecture has a syscall `frobnicate_everything`; it is skipped \
         (check the spelling against syscalls(2))\n"
    );
    // Known elsewhere: profiles are written for all architectures.
    assert_eq!(warnings_about(Dialect::Docker, "riscv_flush_icache socketcall", ""), "");
}

#[test]
fn unknown_keys_get_the_most_similar_known_one() {
    assert_eq!(
        warnings_about(Dialect::Runc, "dup", "\"arg\": []"),
        "Warning 1:147: unknown key `arg` in an entry of `syscalls`; it is ignored (did you mean \
         `args`?)\n"
    );
}

#[test]
fn an_unused_second_value_is_a_warning() {
    assert_eq!(
        warnings_about(Dialect::Runc, "dup", &args(&["0 EQ 1 5"])),
        "Warning 1:214: `valueTwo` is 5, but SCMP_CMP_EQ does not use it (remove it, or use \
         SCMP_CMP_MASKED_EQ, where `value` is the mask)\n"
    );
    assert_eq!(warnings_about(Dialect::Runc, "dup", &args(&["0 EQ 1 0"])), "");
}

#[test]
fn a_mask_of_zero_is_a_warning() {
    assert!(
        warnings_about(Dialect::Runc, "dup", &args(&["0 MASKED_EQ 0 0"])).contains("the mask is 0")
    );
}

#[test]
fn notify_without_a_listener_is_a_warning_and_runc_rejects_more() {
    let notify = |names: &str| text(&entry(names, "NOTIFY", ""));
    let profile = oci::read(&notify("dup"), &options(Dialect::Crun)).unwrap();
    assert!(lines(&profile.warnings).contains("SCMP_ACT_NOTIFY without `listenerPath`"));
    let messages = oci::read(&notify("dup write"), &options(Dialect::Runc)).unwrap_err();
    assert!(lines(&messages).starts_with("Error 1:68: SCMP_ACT_NOTIFY for `write`"));
    assert!(oci::read(&notify("dup write"), &options(Dialect::Crun)).is_ok());
    let default = notify("dup").replacen("SCMP_ACT_ERRNO", "SCMP_ACT_NOTIFY", 1);
    let messages = oci::read(&default, &options(Dialect::Docker)).unwrap_err();
    assert!(lines(&messages).contains("Error 1:19: SCMP_ACT_NOTIFY as the default action"));
}

#[test]
fn a_profile_without_effect_is_a_warning() {
    let gated = entry("dup", "ALLOW", "\"includes\": {\"caps\": [\"CAP_BPF\"]}");
    let profile = read(&[gated], &options(Dialect::Docker));
    assert!(lines(&profile.warnings).contains("no entry has an effect: every syscall gets ERRNO"));
}

/// Kubernetes documents such profiles, which log or deny every syscall.
#[test]
fn a_profile_may_consist_of_a_default_action() {
    for rules in ["", ", \"syscalls\": []", ", \"syscalls\": null"] {
        let text = format!("{{\"defaultAction\": \"SCMP_ACT_LOG\"{rules}}}");
        let profile = oci::read(&text, &options(Dialect::Docker)).unwrap();
        assert_eq!(
            lines(&profile.warnings),
            "Warning 1:1: the profile has no rules: every syscall gets SCMP_ACT_LOG (if this is \
             not intended, add entries to `syscalls`)\n"
        );
        assert_eq!(syscall(&profile, "read", &[]), "LOG");
    }
}

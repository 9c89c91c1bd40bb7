//! What texts mean, and messages about them.

use super::{ReadOptions, read};
use crate::languages::{LanguageId, detect};
use crate::profile::Profile;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_core::{Arch, SeccompData, Verdict};

fn of(text: &str) -> Result<Profile, Diagnostics> {
    read(text, &ReadOptions { statements: true })
}

fn verdict(profile: &Profile, arch: Arch, nr: u32, args: [u64; 6]) -> Verdict {
    let data = SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() };
    profile.policy.evaluate(&data)
}

fn errors(text: &str) -> String {
    of(text).map_or_else(|errors| errors.to_string(), |_| "no error".to_owned())
}

/// The filter of x86_64 with these lines, each without the first two columns of its indentation.
fn x86_64(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!(
        "# filter for arch x86_64 (3221225534)\nif ($arch == 3221225534)\n{lines}  # default action\n  \
         action ERRNO(1);\n# invalid architecture action\naction KILL;\n"
    )
}

/// What `close` with these arguments gets.
fn close(lines: &[&str], args: [u64; 6]) -> Verdict {
    let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
    let mut all = vec!["if ($syscall == 3)"];
    all.extend(lines.iter().map(String::as_str));
    verdict(&of(&x86_64(&all)).unwrap(), Arch::X86_64, 3, args)
}

const DEFAULT: Verdict = Verdict::errno(1);

#[test]
fn actions_have_their_verdicts() {
    for (action, expected) in [
        ("KILL_PROCESS", Verdict::KILL_PROCESS),
        ("KILL", Verdict::KILL_THREAD),
        ("TRAP", Verdict::trap(0)),
        ("TRAP(7)", Verdict::trap(7)),
        ("ERRNO(38)", Verdict::errno(38)),
        ("TRACE(65535)", Verdict::trace(65535)),
        ("LOG", Verdict::LOG),
        ("ALLOW", Verdict::ALLOW),
        ("0x7fc00000", Verdict::user_notif(0)),
    ] {
        assert_eq!(close(&[&format!("action {action};")], [0; 6]), expected, "{action}");
    }
}

#[test]
fn words_are_compared_as_written() {
    let high = 1 << 32;
    for (test, holds, fails) in [
        ("$a1.lo32 == 5", 5 | high, 6),
        ("$a1.hi32 == 5", 5 * high | 9, 5),
        ("$a1.lo32 > 4294967294", 0xffff_ffff, 0xffff_fffe | high),
        ("$a1.hi32 >= 2", 2 * high, high | 0xffff_ffff),
        ("$a1.lo32 & 0x0000000f == 5", 0xf5 | high, 0xf4),
        ("$a1.lo32 & 0x00000000 == 0", 77, u64::MAX),
    ] {
        let lines = [&format!("if ({test})"), "  action ALLOW;"];
        assert_eq!(close(&lines, [0, holds, 0, 0, 0, 0]), Verdict::ALLOW, "{test}");
        let other = if test.contains("& 0x00000000") { Verdict::ALLOW } else { DEFAULT };
        assert_eq!(close(&lines, [holds, fails, 0, 0, 0, 0]), other, "{test}");
    }
    // No bit outside of the mask can be compared.
    let never = ["if ($a0.lo32 & 0x00000003 == 4)", "  action ALLOW;", "else", "  action LOG;"];
    assert_eq!(close(&never, [4; 6]), Verdict::LOG);
}

#[test]
fn a_block_that_decides_nothing_goes_on_with_the_next_line() {
    let lines = [
        "if ($a0.lo32 & 0x00000001 == 1)",
        "  if ($a1.lo32 == 1)",
        "    action TRAP;",
        "if ($a0.lo32 & 0x00000002 == 2)",
        "  action LOG;",
    ];
    assert_eq!(close(&lines, [3, 1, 0, 0, 0, 0]), Verdict::trap(0));
    assert_eq!(close(&lines, [3, 2, 0, 0, 0, 0]), Verdict::LOG);
    assert_eq!(close(&lines, [1, 2, 0, 0, 0, 0]), DEFAULT);
    let without_block =
        ["if ($a0.lo32 == 5)", "else", "  if ($a1.lo32 == 5)", "  else", "    action LOG;"];
    assert_eq!(close(&without_block, [5, 0, 0, 0, 0, 0]), DEFAULT);
    assert_eq!(close(&without_block, [4, 5, 0, 0, 0, 0]), DEFAULT);
    assert_eq!(close(&without_block, [4, 4, 0, 0, 0, 0]), Verdict::LOG);
}

#[test]
fn the_comparison_of_a_64_bit_number_is_one_test() {
    let lines = [
        "if ($a2.hi32 > 3)",
        "else",
        "  if ($a2.hi32 == 3)",
        "    if ($a2.lo32 & 0xffffff00 == 256)",
        "      action ALLOW;",
    ];
    let mut all = vec!["if ($syscall == 3)".to_owned()];
    all.extend(lines.map(|line| format!("  {line}")));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let profile = of(&x86_64(&all)).unwrap();
    let rule = &profile.statements.unwrap().rules[0];
    let tests = rule.when.alternatives(8).unwrap();
    assert_eq!(tests.len(), 1);
    let [test] = tests[0].as_slice() else { panic!("{tests:?}") };
    assert_eq!((test.mask, test.value), (0xffff_ffff_ffff_ff00, 3 << 32 | 256));
    assert_eq!((rule.site.position.line, rule.site.position.column), (3, 3));
    assert_eq!((rule.name.as_str(), rule.nr), ("close", 3));
}

#[test]
fn search_trees_are_read() {
    let text = x86_64(&[
        "if ($syscall > 5)",
        "  if ($syscall == 231)",
        "    action ALLOW;",
        "  if ($syscall == 7)",
        "    action LOG;",
        "else # ($syscall <= 5)",
        "  if ($syscall == 5)",
        "    action TRAP(0);",
        "  # filter for syscall \"UNKNOWN\" (4294957130) [priority: 65535]",
        "  if ($syscall == 4294957130)",
        "    action KILL;",
        "  if ($syscall == -10166)",
        "    action KILL;",
        "  if ($syscall == 4294967295)",
        "    action ALLOW;",
    ]);
    let profile = of(&text).unwrap();
    let got = [231, 7, 5, 6, 0, 4_294_957_130, u32::MAX, 0x4000_0007];
    let got = got.map(|nr| verdict(&profile, Arch::X86_64, nr, [0; 6]));
    let expected = [Verdict::ALLOW, Verdict::LOG, Verdict::trap(0), DEFAULT, DEFAULT];
    assert_eq!(got[..5], expected);
    // x32 numbers, and those that no syscall has, are not compared; 4294967295 is not above 5 here.
    assert_eq!(got[5..], [Verdict::KILL_THREAD, DEFAULT, Verdict::KILL_THREAD]);
    assert!(profile.warnings.is_empty(), "{:?}", profile.warnings);
}

#[test]
fn architectures_have_their_own_filters() {
    let part = |name: &str, token: u32, nr: u32, test: &str| {
        format!(
            "# filter for arch {name} ({token})\nif ($arch == {token})\n  if ($syscall == {nr})\n    if ({test})\n      \
             action ALLOW;\n  action ERRNO(1);\n"
        )
    };
    let x86_64 = part("x86_64", 3_221_225_534, 1, "$a0.lo32 == 7");
    let x32 = part("x32", 3_221_225_534, 1_073_741_825, "$a0 == 7");
    let arm = part("arm", 1_073_741_864, 4, "$a0 == 7");
    let end = "action KILL_PROCESS;\n";
    let seven = [0xffff_0000_0000_0007, 0, 0, 0, 0, 0];
    let get = |text: &str| {
        let profile = of(text).unwrap();
        let of = |arch, nr| verdict(&profile, arch, nr, seven);
        let x32 = of(Arch::X32, 1_073_741_825);
        let arches: Vec<Arch> = profile.policy.arches().collect();
        (arches, [of(Arch::X86_64, 1), x32, of(Arch::Arm, 4), of(Arch::Aarch64, 4)])
    };
    let (allow, bad) = (Verdict::ALLOW, Verdict::KILL_PROCESS);
    let all = format!("{x86_64}{arm}{x32}{end}");
    assert_eq!(get(&all), (vec![Arch::X86_64, Arch::X32, Arch::Arm], [allow, allow, allow, bad]));
    let both = (vec![Arch::X86_64, Arch::X32], [allow, allow, bad, bad]);
    assert_eq!(get(&format!("{x86_64}{x32}{end}")), both);
    assert_eq!(get(&format!("{x86_64}{end}")), (vec![Arch::X86_64], [allow, bad, bad, bad]));
    assert_eq!(get(&format!("{x32}{end}")), (vec![Arch::X32], [bad, allow, bad, bad]));
    // Without comments, the numbers and the form of the arguments say it.
    let bare: String = format!("{x86_64}{x32}{end}")
        .lines()
        .filter(|line| !line.contains('#'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(get(&bare), both);
    let always = bare.replace("    if ($a0 == 7)\n      action ALLOW;", "    action ALLOW;");
    assert_eq!(get(&always), both);
    assert_eq!(
        errors(&format!("{x86_64}{x86_64}{end}")),
        "8:1: a second filter for x86_64\n  help: give the text as seccomp_export_pfc writes it"
    );
    assert!(
        errors(&format!("{x86_64}{}{end}", x32.replace("ERRNO(1)", "ALLOW"))).starts_with(
            "8:1: the default action for x32 is ALLOW, but ERRNO(EPERM) before, and libseccomp has one for both"
        )
    );
}

#[test]
fn the_text_may_be_among_other_output() {
    let text = x86_64(&["if ($syscall == 0)", "  action ALLOW;"]);
    let marked =
        format!("#\n# pseudo filter code start\n#\n{text}#\n# pseudo filter code end\n#\n");
    let warnings = |text: &str| -> Vec<String> {
        let profile = of(text).unwrap();
        assert_eq!(verdict(&profile, Arch::X86_64, 0, [0; 6]), Verdict::ALLOW);
        profile.warnings.iter().map(ToString::to_string).collect()
    };
    let quoted: String = marked.lines().map(|line| format!("    {line}\r\n")).collect();
    for plain in [marked.clone(), quoted, format!("```\n{marked}```\n")] {
        assert!(warnings(&plain).is_empty(), "{plain}");
    }
    let tabs = marked.replace("    ", "\t\t").replace("  ", "\t");
    assert!(warnings(&tabs).is_empty());
    assert_eq!(
        warnings(&format!("started\nif (x)\n{marked}done\n")),
        [
            "1:1: the text before the filter is not read",
            "17:1: the text after the filter is not read"
        ]
    );
    assert_eq!(
        errors(&format!("{marked}{marked}")),
        "16:1: a second filter begins here\n  help: give one of them, in a file of its own"
    );
}

#[test]
fn what_is_incomplete_or_has_lost_its_structure_is_refused() {
    let whole = x86_64(&["if ($syscall == 0)", "  if ($a0.hi32 == 0)", "    action ALLOW;"]);
    let lost: String = whole.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    assert!(
        errors(&lost)
            .starts_with("3:1: this comparison is outside of the block of an architecture")
    );
    let without = |part: &str| whole.replace(part, "");
    assert!(
        errors(&without("  action ERRNO(1);\n"))
            .starts_with("2:1: the filter of x86_64 has no default action, so it is incomplete")
    );
    assert!(errors(&without("action KILL;\n")).starts_with(
        "the text does not end with the action for other architectures, so it is incomplete"
    ));
    assert!(errors(&without("if ($arch == 3221225534)\n")).contains("outside of the block"));
    assert!(errors("action KILL;").contains("the text has no pseudo filter code"));
    for (from, to, message) in [
        (
            "      action ALLOW;",
            "      if ($a1.lo32 == 1)\n        action LOG;\n     action ALLOW;",
            "7:6: the line is indented otherwise",
        ),
        ("      action ALLOW", "     else\n      action ALLOW", "5:6: `else` without an `if`"),
        ("  # default", "  else\n  # default", "no error"),
        ("# default action", "else\n  else\n", "7:3: `else` without an `if`"),
        (
            "  # default",
            "  action LOG;\n  # default",
            "8:3: an action before this line decides always",
        ),
        ("action KILL;", "action KILL;\naction LOG;", "10:1: an action before this line"),
        ("$a0.hi32", "$a0", "4:5: arguments of x86_64 have 64 bits"),
        ("$a0.hi32", "$a6.hi32", "4:5: `$a6.hi32 == 0` is not a comparison"),
        ("$a0.hi32", "$a00.hi32", "4:5: `$a00.hi32 == 0` is not a comparison"),
        ("$a0.hi32 == 0", "$a0.hi32 ??? 0", "4:5: `$a0.hi32 ??? 0` is not a comparison"),
        ("== 0)\n    if", "== 4294967296)\n    if", "3:3: `$syscall == 4294967296` is not"),
        ("ALLOW;", "MAYBE;", "5:7: `MAYBE` is not an action"),
        ("ERRNO(1)", "ERRNO(65536)", "7:3: `ERRNO(65536)` is not an action"),
        ("action ALLOW;", "return ALLOW;", "5:7: expected `if (…)`, `else` or `action …;`"),
        ("    if ($a0", "    if ($arch == 3)\n    if ($a0", "4:5: `$arch` is compared inside"),
        ("3221225534)\n  if", "5)\n  if", "2:1: 5 is not the number of an architecture"),
    ] {
        let found = errors(&whole.replace(from, to));
        assert!(found.starts_with(message), "{to}: {found}");
    }
}

#[test]
fn comments_that_contradict_the_numbers_are_warnings() {
    let text = x86_64(&[
        "# filter for syscall \"read\" (101) [priority: 65535]",
        "if ($syscall == 101)",
        "  action ALLOW;",
    ]);
    let warnings =
        |text: &str| of(text).unwrap().warnings.iter().map(ToString::to_string).collect::<Vec<_>>();
    let expected = "4:3: the comment before it says read, which is 0, but 101 is ptrace";
    assert_eq!(warnings(&text), [expected]);
    let text = text.replace("\"read\"", "\"ptrace\"").replace("arch x86_64", "arch arm");
    assert_eq!(warnings(&text), ["2:1: the comment before it says arm, but 3221225534 is x86_64"]);
}

#[test]
fn limits_have_messages() {
    let deep: Vec<String> =
        (0..80).map(|depth| format!("{}if ($syscall > {depth})", " ".repeat(depth))).collect();
    let deep: Vec<&str> = deep.iter().map(String::as_str).collect();
    assert!(errors(&x86_64(&deep)).contains("blocks are nested deeper than 64"));
    let many = "  if ($syscall == 1)\n    action ALLOW;\n".repeat(150_001);
    let text = format!("if ($arch == 3221225534)\n{many}  action LOG;\naction KILL;\n");
    assert!(errors(&text).contains("more than 150000 comparisons, the limit"));
}

#[test]
fn texts_are_detected() {
    let name = |extension, text: &str| {
        detect(extension, text.as_bytes()).map(|(id, _)| LanguageId::name(id))
    };
    let text = x86_64(&[]);
    let marked = format!("#\n# pseudo filter code start\n#\n{text}");
    for extension in [None, Some("txt"), Some("log"), Some("md"), Some("pfc")] {
        assert_eq!(name(extension, &text), Some("pfc"), "{extension:?}");
        assert_eq!(name(extension, &format!("filter:\n{marked}")), Some("pfc"), "{extension:?}");
    }
    for extension in ["policy", "json", "c"] {
        assert_eq!(name(Some(extension), &marked), Some("pfc"), "{extension}");
    }
    assert_eq!(name(Some("pfc"), ""), Some("pfc"));
    // A part is refused by its reader.
    assert_eq!(name(None, "if ($syscall == 72)\n  action ALLOW;\n"), Some("pfc"));
    assert_ne!(name(None, "if ($arch == \"x86\") { print; }\n"), Some("pfc"));
}

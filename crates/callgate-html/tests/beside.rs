//! What the page shows beside a view: tests, steps, which instructions and rules are about which syscalls, names of constants.

use callgate_formats::syntax::tree::{Node, NodeKind};
use callgate_html::web::answer;
use callgate_requests::json::Json;

use crate::answers::{ask, check, field, parsed};

const POLICY: &str =
    "ALLOW {\n  read,\n  socket(family) { family == 1 || family == 2 }\n} DEFAULT ERRNO(38)";

/// The words of a fragment.
fn text(html: &str) -> String {
    let text = crate::answers::text(html);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn number(node: Option<&Node<'_>>) -> u64 {
    match node.map(|node| &node.kind) {
        Some(NodeKind::Number(digits)) => digits.parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

fn numbers(node: &Node<'_>) -> Vec<u64> {
    node.items().iter().map(|item| number(Some(item))).collect()
}

#[test]
fn tests_are_checked_with_every_view() {
    let lines = "read = allow\nsocket(AF_ALG) = deny\nsocket = allow\nraed = allow\n<b> = deny\n";
    let tests = format!(r#", "tests": {}"#, Json::from(lines));
    for view in ["explanation", "findings", "program"] {
        let answer = ask(view, POLICY, &tests);
        let tested = answer.get("tests").unwrap();
        assert_eq!(field(tested, "status"), "3 of 5 tests fail.");
        assert!(field(&answer, "status").ends_with(" 3 of 5 tests fail."), "{answer:?}");
        assert_eq!(number(tested.get("failed")), 3);
        let body = field(tested, "body");
        check(body);
        let shown = text(body);
        assert!(shown.contains("ERRNO(ENOSYS) for x86_64 socket(), otherwise ALLOW"), "{shown}");
        assert!(shown.contains("tests:4:1") && shown.contains("no syscall \"raed\""), "{shown}");
        let lines = tested.get("lines").unwrap().items();
        let passes: Vec<bool> = lines
            .iter()
            .map(|line| matches!(line.get("passes").unwrap().kind, NodeKind::Bool(true)))
            .collect();
        assert_eq!(passes, [true, true, false, false, false]);
        assert_eq!(field(&lines[1], "text"), "ERRNO(ENOSYS)");
    }
    let none = ask("explanation", POLICY, "");
    assert_eq!(field(none.get("tests").unwrap(), "status"), "");
    assert!(field(&none, "status").ends_with('.'), "{none:?}");
}

#[test]
fn steps_have_registers_answers_and_rules() {
    let answer = ask("simulate", POLICY, r#", "call": "socket(AF_INET)""#);
    check(field(&answer, "body"));
    let shown = text(field(&answer, "body"));
    for part in [
        "Loads the number of the syscall",
        "Is A = 0x29 (41) equal to 0x29 (41)? Yes; goes on at ",
        "Loads the low half of args[0]",
        "condition on family source:3:3",
        "Returns ALLOW",
        "verdict source:3:3",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A default that no rule overrides.
    let denied = ask("simulate", POLICY, r#", "call": "socket(AF_ALG)""#);
    assert!(text(field(&denied, "body")).contains("Returns ERRNO(ENOSYS)"), "{denied:?}");
}

#[test]
fn the_steps_of_a_program_have_its_scratch_memory() {
    let program = "ld [0]\nst M[3]\nldx #2\nstx M[4]\nadd x\nld M[3]\njeq #0, yes, no\nyes: ret #0x7fff0000\nno: ret #0\n";
    let answer = ask("simulate", program, r#", "call": "read""#);
    let body = field(&answer, "body");
    check(body);
    assert!(body.contains("id=\"given-steps\"") && body.contains("id=\"steps\""), "{body}");
    let shown = text(body);
    let other = ask("simulate", program, r#", "call": "write""#);
    assert!(
        shown.contains("Stores A in M[3]") && shown.contains("M[3] = 0x0, M[4] = 0x2"),
        "{shown}"
    );
    assert!(text(field(&other, "body")).contains("M[3] = 0x1, M[4] = 0x2"), "{other:?}");
}

#[test]
fn a_call_with_any_values_has_all_verdicts_and_an_example() {
    let answer = ask("simulate", POLICY, r#", "call": "socket(_, 1)""#);
    let shown = text(field(&answer, "body"));
    assert!(field(&answer, "status").contains("depends on the arguments"), "{answer:?}");
    assert!(shown.contains("ALLOW if family") && shown.contains("else ERRNO(ENOSYS)"), "{shown}");
    assert!(shown.contains("An example:"), "{shown}");
    let always = ask("simulate", POLICY, r#", "call": "read(_, _)""#);
    assert_eq!(field(&always, "status"), "x86_64 read(_, _): ALLOW");
    let of_abi = ask("simulate", POLICY, r#", "call": "x86 read()", "arch": "x86_64""#);
    assert!(field(&of_abi, "status").starts_with("x86 read()"), "{of_abi:?}");
}

#[test]
fn instructions_and_places_are_known_by_syscall() {
    let answer = ask("explanation", POLICY, "");
    let paths = answer.get("paths").unwrap().items();
    let of = |nr: u64| {
        let own = paths.iter().find(|path| numbers(path.get("nrs").unwrap()).contains(&nr));
        numbers(own.unwrap_or_else(|| panic!("{nr}")).get("insns").unwrap())
    };
    let (read, socket, write) = (of(0), of(41), of(1));
    assert!(socket.len() > read.len(), "{socket:?} {read:?}");
    assert_ne!(read, write);
    // Each program begins at its first instruction, and goes forward.
    for path in [read, socket, write] {
        assert!(path.first() == Some(&0) && path.is_sorted(), "{path:?}");
    }
    let rules = answer.get("rules").unwrap().items();
    let places: Vec<Vec<String>> = rules
        .iter()
        .map(|rule| {
            let word = |item: &Node<'_>| match &item.kind {
                NodeKind::Number(digits) => digits.to_string(),
                _ => item.text().unwrap_or_default().to_owned(),
            };
            rule.items().iter().map(word).collect()
        })
        .collect();
    assert_eq!(places, [["2", "3", "x86_64", "0"], ["3", "3", "x86_64", "41"]]);
    // Of a program, the given one is listed.
    let program =
        ask("explanation", "ld [0]\njeq #1, yes, no\nyes: ret #0x7fff0000\nno: ret #0\n", "");
    let body = field(&program, "body");
    assert!(body.contains("id=\"program\""), "{body}");
    let first = &program.get("paths").unwrap().items()[0];
    assert_eq!(numbers(first.get("insns").unwrap()), [0, 1, 3]);
}

#[test]
fn constants_have_values_uses_and_pages() {
    let all = parsed(&answer(r#"{"view": "constants"}"#));
    let of = |name: &str| {
        let all = all.get("constants").unwrap().items();
        let mut own = all.iter().filter(|one| field(one, "name") == name);
        let one = own.next().unwrap_or_else(|| panic!("{name}"));
        assert!(own.next().is_none(), "{name} occurs twice");
        [field(one, "value"), field(one, "use"), field(one, "page")].map(str::to_owned)
    };
    let [value, purpose, page] = of("AF_ALG");
    assert_eq!((value.as_str(), page.as_str()), ("0x26, 38", "man 2 socket"));
    assert!(purpose.contains("family of socket"), "{purpose}");
    assert!(of("CLONE_NEWUSER")[1].contains("clone_flags of clone"));
    assert_eq!(of("AT_FDCWD")[0], "-100");
    let [value, purpose, page] = of("EPERM");
    assert_eq!((value.as_str(), page.as_str()), ("1", "man 3 errno"));
    assert!(purpose.contains("Operation not permitted"), "{purpose}");
    assert!(of("SCMP_ACT_LOG")[1].contains("is allowed and logged"));
    assert_eq!(of("SECCOMP_RET_TRAP")[0], "0x00030000");
    assert_eq!(of("CAP_SYS_ADMIN")[0], "21");
}

//! Requests of the web page with their answers.

use callgate_bpf::printable::is_printable;
use callgate_formats::syntax::json::parse;
use callgate_formats::syntax::tree::{Node, NodeKind};
use callgate_html::web::{MAX_REQUEST, answer};
use callgate_requests::json::Json;

const VIEWS: [&str; 3] = ["explanation", "findings", "program"];

/// An answer as a tree.
pub(crate) fn parsed(answer: &str) -> Node<'static> {
    parse(answer).unwrap().into_owned()
}

/// The answer to a view of a text, with further fields of the request.
pub(crate) fn ask(view: &str, text: &str, more: &str) -> Node<'static> {
    let text = Json::from(text);
    let request = format!(
        r#"{{"view": "{view}", "source": {{"text": {text}, "machine": "x86_64", "kernel": "6.18"}}{more}}}"#
    );
    parsed(&answer(&request))
}

pub(crate) fn field<'a>(answer: &'a Node<'_>, key: &str) -> &'a str {
    answer.get(key).and_then(Node::text).unwrap_or_default()
}

/// Whether a fragment is well-formed, and has no attribute that acts.
pub(crate) fn check(html: &str) {
    let document = format!("<div>{html}</div>");
    let parsed =
        roxmltree::Document::parse(&document).unwrap_or_else(|error| panic!("{error}: {html}"));
    for node in parsed.descendants().filter(roxmltree::Node::is_element) {
        assert!(!["script", "img", "iframe", "style"].contains(&node.tag_name().name()), "{html}");
        for attribute in node.attributes() {
            let name = attribute.name();
            assert!(!name.starts_with("on") && name != "style" && name != "src", "{name}: {html}");
            assert!(name != "href" || attribute.value().starts_with('#'), "{html}");
        }
    }
    let bad = html.chars().find(|c| !is_printable(*c) && *c != '\n');
    assert_eq!(bad, None, "{html:?}");
}

const HOSTILE: &str = "<img src=x onerror=\"a()\">\u{1b}[2J\u{202e}\u{3164}&'";

#[test]
fn all_views_of_all_kinds_of_sources_are_well_formed() {
    let profile = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
        {"names": ["read", "<b>"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]}]}"#;
    let sources = [
        (profile, "container profile"),
        ("[Service]\nSystemCallFilter=@system-service\n", "systemd unit"),
        ("ALLOW { read, write } DEFAULT KILL", "Kafel policy"),
        ("read: 1\nsocket: arg0 == 1\n", "minijail policy"),
        ("ld [0]\njeq #1, yes, no\nyes: ret #0x7fff0000\nno: ret #0\n", "BPF program"),
    ];
    for (text, format) in sources {
        for view in VIEWS {
            let answer = ask(view, text, "");
            assert!(field(&answer, "head").contains(format), "{format}: {answer:?}");
            assert!(field(&answer, "body").contains("<section"), "{format} {view}");
            for part in ["head", "messages", "body"] {
                check(field(&answer, part));
            }
        }
    }
}

#[test]
fn text_of_sources_is_escaped_everywhere() {
    let value = Json::from(HOSTILE);
    let profile = format!(
        r#"{{"defaultAction": "SCMP_ACT_ERRNO", {value}: {value}, "syscalls": [{{"names": [{value}, "read"],
           "action": "SCMP_ACT_ALLOW", "comment": {value}}}]}}"#
    );
    let broken = format!(r#"{{"defaultAction": {value}}}"#);
    for text in [profile.as_str(), broken.as_str(), HOSTILE] {
        for view in VIEWS {
            let answer = ask(view, text, "");
            let all = ["head", "messages", "body"].map(|part| field(&answer, part)).concat();
            check(&all);
            assert!(all.contains("&lt;"), "{all}");
        }
    }
}

#[test]
fn a_comparison_says_which_filter_is_stricter() {
    let of = |text: &str, before: &str| {
        let before = format!(r#", "before": {{"text": {}, "name": "old"}}"#, Json::from(before));
        let answer = ask("compare", text, &before);
        check(field(&answer, "body"));
        field(&answer, "status").to_owned()
    };
    let [small, large] = ["ALLOW { read } DEFAULT KILL", "ALLOW { read, write } DEFAULT KILL"];
    assert!(of(small, large).starts_with("Stricter"));
    assert!(of(large, small).starts_with("Less strict"));
    assert_eq!(of(small, small), "Both filters do the same.");
    assert!(of(small, "ALLOW { write } DEFAULT KILL").starts_with("Each filter permits"));
}

/// What counts is what the filters permit; actions that deny have an order, too, but permit nothing.
#[test]
fn filters_that_permit_the_same_are_neither_stricter_nor_less_strict() {
    let pairs = [
        ("ALLOW { read } DEFAULT KILL", "ALLOW { read } DEFAULT ERRNO(1)"),
        ("ALLOW { read } DEFAULT ERRNO(1)", "ALLOW { read } DEFAULT ERRNO(2)"),
        ("ALLOW { read } DEFAULT KILL", "LOG { read } DEFAULT KILL"),
        (
            "ALLOW { read }, ERRNO(1) { write } DEFAULT KILL",
            "ALLOW { read }, ERRNO(1) { openat } DEFAULT KILL",
        ),
    ];
    for (one, two) in pairs.into_iter().flat_map(|(one, two)| [(one, two), (two, one)]) {
        let before = format!(r#", "before": {{"text": {}, "name": "old"}}"#, Json::from(one));
        let answer = ask("compare", two, &before);
        let expected =
            "Both filters permit the same syscalls, but have different actions for some.";
        assert_eq!(field(&answer, "status"), expected, "{one} -> {two}");
        assert!(field(&answer, "body").contains("0 added, 0 removed"), "{answer:?}");
    }
}

/// The number of findings in the head is that of lint, with the warnings of the reader.
#[test]
fn findings_are_those_of_lint() {
    let texts = [
        "[Service]\nSystemCallFilter=read foo\n",
        "# callgate: allow-file(profile)\n# callgate: allow-file(cannot-start)\n[Service]\nSystemCallFilter=read foo\n",
        r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read", "foo"], "action": "SCMP_ACT_ALLOW"}]}"#,
    ];
    for (text, has_warning) in texts.into_iter().zip([true, false, true]) {
        let answer = ask("findings", text, "");
        let text = Json::from(text);
        let request = format!(
            r#"{{"request": "lint", "machine": "x86_64", "level": "note", "source": {{"text": {text}, "kernel": "6.18"}}}}"#
        );
        let lint = parsed(&callgate_requests::answer(&request));
        let found = lint.get("result").and_then(|result| result.get("findings")).unwrap().items();
        let of = |level| found.iter().filter(|one| field(one, "level") == level).count();
        assert_eq!(of("warning") > 0, has_warning, "{lint:?}");
        let body = field(&answer, "body");
        for one in found {
            assert!(body.contains(field(one, "id")), "{answer:?}");
        }
        assert_eq!(body.matches("<li").count(), found.len(), "{body}");
        for (level, chip) in [("warning", "chip conditional"), ("error", "chip killed")] {
            assert_eq!(body.matches(chip).count(), of(level), "{body}");
        }
    }
}

/// The element with this class or identifier as text.
pub(crate) fn text(html: &str) -> String {
    let document = format!("<div>{html}</div>");
    let parsed = roxmltree::Document::parse(&document).unwrap();
    let texts = parsed.descendants().filter_map(|node| node.text().filter(|_| node.is_text()));
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_head_counts_what_the_summary_counts() {
    let answer = ask("explanation", "ALLOW { read { fd == 1 } }, LOG { read } DEFAULT KILL", "");
    assert!(field(&answer, "status").contains("Allows: 1 of 385 syscalls."), "{answer:?}");
    assert!(field(&answer, "body").contains("always allows 1 of 385"), "{answer:?}");
}

#[test]
fn the_head_has_the_mean_of_the_table_which_says_what_it_is_over() {
    for (policy, over) in [
        ("ALLOW { read { fd == 1 } } DEFAULT KILL", "allowed for some arguments, as if"),
        ("ALLOW { read } DEFAULT KILL", "over all always-allowed"),
    ] {
        let answer = ask("program", policy, "");
        let head = text(field(&answer, "head"));
        let body = text(field(&answer, "body"));
        let mean =
            head.split("before Linux 5.11").nth(1).and_then(|rest| rest.split_whitespace().next());
        let row = body.split("compiled").find(|part| part.contains(mean.unwrap()));
        assert!(row.is_some(), "{head} {body}");
        assert!(body.contains(over) && !body.contains("unknown"), "{body}");
        assert!(!body.contains("--weights"), "the page has no such option: {body}");
    }
    let nothing = ask("program", "DEFAULT KILL", "");
    assert!(text(field(&nothing, "body")).contains("no means"), "{nothing:?}");
}

#[test]
fn only_what_the_kernel_caches_is_called_cached() {
    let of = |arches: &str, more: &str| {
        let request = format!(
            r#"{{"view": {more}, "source": {{"text": "ret #0x7fff0000", "machine": "x86_64", "arches": "{arches}"}}}}"#
        );
        let answer = parsed(&answer(&request));
        text(field(&answer, "body"))
    };
    for arches in ["x86_64", "x86_64,x32"] {
        let body = of(arches, "\"program\"");
        assert!(body.contains(" 385 ") && !body.contains(" 759 "), "{arches}: {body}");
    }
    let simulated = |call: &str| of("x86_64", &format!(r#""simulate", "call": "{call}""#));
    assert!(simulated("read").contains("in its cache"));
    assert!(!simulated("9999").contains("in its cache"));
}

#[test]
fn variables_have_values_and_without_them_other_views() {
    let policy = "ALLOW { read, write { fd == $log } } DEFAULT KILL";
    let of = |set: &str| {
        let request = format!(
            r#"{{"view": "explanation", "source": {{"text": "{policy}", "machine": "x86_64"{set}}}}}"#
        );
        parsed(&answer(&request))
    };
    let given = of(r#", "set": "log = 0x2""#);
    assert!(field(&given, "body").contains("fd.low == 2"), "{}", text(field(&given, "body")));
    let missing = of("");
    assert!(field(&missing, "messages").contains("Variables"), "{missing:?}");
    for (set, part) in [
        ("log", "NAME=VALUE"),
        ("log=x", "not a number"),
        ("log=1,log=2", "two values"),
        ("l=1", "log"),
    ] {
        let wrong = of(&format!(r#", "set": "{set}""#));
        assert!(field(&wrong, "status").contains(part), "{wrong:?}");
    }
}

/// As many as a profile can name in a megabyte.
#[test]
fn deciding_rules_have_a_limit() {
    let entry = r#"{"names": ["read"], "action": "SCMP_ACT_ALLOW"}"#;
    let entries = vec![entry; 5000].join(",");
    let profile = format!(r#"{{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{entries}]}}"#);
    let answer = ask("simulate", &profile, r#", "call": "read""#);
    let body = field(&answer, "body");
    let (body, steps) = body.split_once("<section id=\"steps\"").unwrap();
    assert_eq!(steps.matches("\"position\"").count(), 3, "{steps}");
    assert_eq!(body.matches("\"position\"").count(), 10, "{}", body.len());
    assert!(body.contains("and 4,990 more"), "{body}");
}

#[test]
fn a_conversion_is_a_file_or_the_reasons() {
    let text = "ALLOW { read, socket(family) { family == 1 } } DEFAULT KILL";
    let written = ask("convert", text, r#", "to": "minijail", "closest": false"#);
    let file = written.get("file").unwrap_or_else(|| panic!("{written:?}"));
    assert_eq!(field(file, "name"), "filter.policy");
    assert!(field(file, "text").contains("socket: "), "{file:?}");
    let three = "ALLOW { read }, ERRNO(1) { write } DEFAULT KILL";
    let refused = ask("convert", three, r#", "to": "firecracker", "closest": false"#);
    assert!(field(&refused, "status").contains("cannot express"), "{refused:?}");
    assert!(refused.get("file").is_none_or(|file| file.get("text").is_none()), "{refused:?}");
    let closest = ask("convert", three, r#", "to": "firecracker", "closest": true"#);
    assert!(field(&closest, "status").contains("stricter"), "{closest:?}");
    assert!(closest.get("file").is_some_and(|file| field(file, "text").contains("read")));
    let code = ask("convert", text, r#", "to": "rust""#);
    assert!(field(code.get("file").unwrap(), "text").contains("sock_filter"));
}

#[test]
fn a_simulated_syscall_has_its_verdict_and_the_rule() {
    let text = "ALLOW {\n  read, socket(family) { family == 1 } } DEFAULT KILL";
    let of = |call: &str| ask("simulate", text, call);
    let allowed = of(r#", "call": "socket(AF_UNIX)""#);
    assert_eq!(field(&allowed, "status"), "x86_64 socket(AF_UNIX): ALLOW");
    assert!(field(&allowed, "body").contains("source:2:9"), "{allowed:?}");
    let denied = of(r#", "call": "socket AF_INET""#);
    assert!(field(&denied, "status").ends_with("KILL_THREAD"), "{denied:?}");
    assert!(field(&denied, "body").contains("default action"), "{denied:?}");
    for wrong in ["opneat", "", "99999999999", "<b>"] {
        let answer = of(&format!(r#", "call": "{wrong}""#));
        assert!(field(&answer, "status").starts_with("Error"), "{answer:?}");
        check(field(&answer, "messages"));
    }
}

const RECORD: &str = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 gid=0 ses=1 pid=7 comm=\"nginx\" exe=\"/<b>\" sig=31 \
                      arch=c000003e syscall=165 compat=0 ip=0x7f code=0x0\n";

#[test]
fn a_denial_has_its_rule_and_a_proved_change() {
    let policy = "ALLOW {\n  read, write\n}\nDEFAULT KILL\n";
    let of = |policy: &str, log: &str| {
        let answer = ask("denied", policy, &format!(r#", "log": {}"#, Json::from(log)));
        check(field(&answer, "body"));
        answer
    };
    let denied = of(policy, RECORD);
    assert_eq!(field(&denied, "status"), "1 denied syscall in the log.");
    let body = text(field(&denied, "body"));
    for part in [
        "mount(",
        "KILL_THREAD",
        "source:4:",
        "proved to allow mount with all arguments, and nothing else",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let changes = denied.get("changes").unwrap().items();
    let changed = changes.first().and_then(Node::text).unwrap();
    assert_eq!(changed, "ALLOW {\n  read, write, mount\n}\nDEFAULT KILL\n");
    let after = of(changed, RECORD);
    assert!(text(field(&after, "body")).contains("This filter allows it"), "{after:?}");
    assert!(after.get("changes").unwrap().items().is_empty());
    // A program has no rules to change.
    let program = of("ret #0", RECORD);
    assert!(
        text(field(&program, "body")).contains("a program has no rules to change"),
        "{program:?}"
    );
    // With one verdict for some arguments and another one for others, a change for all would undo both.
    let several = of("ERRNO(1) { mount(a, b, c, flags) { flags == 1 } } DEFAULT KILL", RECORD);
    assert!(text(field(&several, "body")).contains("the arguments decide"), "{several:?}");
}

#[test]
fn a_log_alone_has_what_the_syscalls_are_for() {
    let of = |log: &str| {
        let request =
            format!(r#"{{"view": "denied", "arch": "x86_64", "log": {}}}"#, Json::from(log));
        let answer = parsed(&answer(&request));
        check(field(&answer, "body"));
        (field(&answer, "status").to_owned(), text(field(&answer, "body")))
    };
    let (status, body) = of(RECORD);
    assert_eq!(status, "1 denied syscall in the log.");
    assert!(body.contains("mount(") && body.contains("dangerous"), "{body}");
    let (_, failed) = of("7 unshare(CLONE_NEWUSER) = -1 EPERM (Operation not permitted)\n");
    assert!(failed.contains("ERRNO(EPERM)") && failed.contains("CAP_SYS_ADMIN"), "{failed}");
    let (nothing, next) = of("hello\n");
    assert!(nothing.starts_with("Nothing was recognized"), "{nothing}");
    assert!(next.contains("journalctl -k --grep type=1326"), "{next}");
    // The kernel logs the action without its data.
    let (_, action) = of(&RECORD.replace("code=0x0", "code=0x50000"));
    assert!(action.contains("ERRNO") && !action.contains("ERRNO(0)"), "{action}");
    // If no filter denied it, there is nothing else to paste.
    let (_, other) = of("newuidmap: write to uid_map failed: Operation not permitted\n");
    assert!(other.contains("no filter denied") && !other.contains("journalctl"), "{other}");
    for words in [
        "app.service: Main process exited, code=killed, status=31/SYS\n",
        "ruby: pthread_create: Operation not permitted\n",
    ] {
        let (status, body) = of(words);
        assert!(status.contains("looks like denials"), "{status}");
        assert!(body.contains("strace -f PROGRAM") && !body.contains("callgate why"), "{body}");
    }
}

#[test]
fn a_name_is_a_built_in_profile() {
    for name in ["docker-default\n", " podman-default", "docker-default@28", "no-io-uring"] {
        let answer = ask("explanation", name, "");
        assert!(field(&answer, "head").contains("built-in profile"), "{name}: {answer:?}");
        assert!(answer.get("rules").unwrap().items().is_empty(), "its text is not in the field");
    }
    let before = r#", "before": {"text": "docker-default", "machine": "x86_64", "kernel": "6.18"}"#;
    let same = ask("compare", "docker-default", before);
    assert_eq!(field(&same, "status"), "Both filters do the same.");
    let unknown = ask("explanation", "docker-default@1", "");
    assert!(field(&unknown, "status").starts_with("Error: "), "{unknown:?}");
    let denied = ask("denied", "docker-default", &format!(r#", "log": {}"#, Json::from(RECORD)));
    let body = text(field(&denied, "body"));
    assert!(body.contains("a built-in profile stays as it is"), "{body}");
    // A name in a text is a part of it.
    let other = ask("explanation", "docker-default and more", "");
    assert!(field(&other, "status").starts_with("Error: "), "{other:?}");
}

#[test]
fn a_help_that_names_built_in_profiles_shows_them() {
    let of = |text: &str| {
        let answer = ask("explanation", text, "");
        check(field(&answer, "messages"));
        let parts = field(&answer, "messages").split("data-source=\"").skip(1);
        parts.filter_map(|part| Some(part.split_once('"')?.0.to_owned())).collect::<Vec<_>>()
    };
    let pod = "kind: Pod\nspec:\n  securityContext:\n    seccompProfile: {type: RuntimeDefault}\n";
    assert_eq!(of(&format!("apiVersion: v1\n{pod}")), ["containerd-default", "crio-default"]);
    assert_eq!(of("services:\n  web:\n    image: a\n"), ["docker-default"]);
    let container =
        r#"[{"Id": "3f2c9be1f0d2", "Name": "/db", "HostConfig": {"SecurityOpt": null}}]"#;
    assert_eq!(of(container), ["docker-default"]);
    assert!(of("ALLOW { raed } DEFAULT KILL").is_empty());
}

#[test]
fn a_log_in_place_of_a_filter_is_known_as_one() {
    let is_log = |text: &str| {
        let answer = ask("explanation", text, "");
        match answer.get("log").map(|log| &log.kind) {
            Some(NodeKind::Bool(is_log)) => *is_log,
            _ => panic!("{answer:?}"),
        }
    };
    assert!(is_log(RECORD));
    assert!(is_log("7 unshare(CLONE_NEWUSER) = -1 EPERM (Operation not permitted)\n"));
    assert!(is_log("app.service: Main process exited, code=killed, status=31/SYS\n"));
    assert!(is_log("ruby: pthread_create: Operation not permitted\n"));
    assert!(!is_log("ALLOW { raed } DEFAULT KILL"));
    assert!(!is_log("{"));
    // Words of a log in a comment make no log of a filter.
    assert!(!is_log("// mount: Operation not permitted\nALLOW { raed } DEFAULT KILL"));
    assert!(!is_log("; mount: Operation not permitted\nld [0]\njeq #1, a\n"));
    assert!(!is_log("what is this?"));
}

#[test]
fn places_of_messages_and_findings_are_marks() {
    let of = |answer: &Node<'_>| -> Vec<(String, String)> {
        let marks = answer.get("marks").unwrap().items().iter();
        marks
            .map(|mark| (field(mark, "place").to_owned(), field(mark, "severity").to_owned()))
            .collect()
    };
    let wrong = ask("explanation", "ALLOW { raed } DEFAULT KILL", "");
    assert_eq!(of(&wrong), [("source:1:9".to_owned(), "error".to_owned())]);
    let profile = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"names": ["read", "foo"], "action": "SCMP_ACT_ALLOW"}]}"#;
    let found = of(&ask("explanation", profile, ""));
    assert!(
        found
            .iter()
            .any(|(place, severity)| place.starts_with("source:1:") && severity == "warning"),
        "{found:?}"
    );
}

#[test]
fn invalid_requests_have_messages() {
    for request in ["", "[]", "{", "{}", r#"{"view": "x"}"#, r#"{"view": "findings", "source": 1}"#]
    {
        let answer = parsed(&answer(request));
        assert!(field(&answer, "status").starts_with("Error"), "{request}: {answer:?}");
    }
    let args = ask("simulate", "ALLOW { read } DEFAULT KILL", r#", "call": "read(1, x)""#);
    assert!(field(&args, "status").contains("argument \"x\""), "{args:?}");
    let long = format!("\"{}\"", "a".repeat(MAX_REQUEST));
    assert!(answer(&long).contains("the maximum is 8388608"));
    let about = parsed(&answer(r#"{"view": "about"}"#));
    assert!(about.get("arches").is_some_and(|arches| arches.items().len() > 20));
    let syscalls = about.get("syscalls").unwrap().items();
    let ptrace = syscalls.iter().find(|one| field(one, "name") == "ptrace").unwrap();
    let args: Vec<&str> =
        ptrace.get("args").unwrap().items().iter().filter_map(Node::text).collect();
    assert_eq!(args, ["request", "pid", "addr", "data"]);
    assert!(!field(ptrace, "danger").is_empty() && !field(ptrace, "purpose").is_empty());
}

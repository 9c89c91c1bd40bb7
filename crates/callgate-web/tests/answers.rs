//! Requests of the web page with their answers.

use callgate::formats::syntax::json::parse;
use callgate::formats::syntax::tree::Node;
use callgate_requests::json::Json;
use callgate_web::{MAX_REQUEST, answer};

const VIEWS: [&str; 3] = ["explanation", "findings", "program"];

/// The answer to a view of a text, with further fields of the request.
fn ask(view: &str, text: &str, more: &str) -> Node {
    let text = Json::from(text);
    let request = format!(
        r#"{{"view": "{view}", "source": {{"text": {text}, "machine": "x86_64", "kernel": "6.18"}}{more}}}"#
    );
    parse(&answer(&request)).unwrap()
}

fn field<'a>(answer: &'a Node, key: &str) -> &'a str {
    answer.get(key).and_then(Node::text).unwrap_or_default()
}

/// Whether a fragment is well-formed, and has no attribute that acts.
fn check(html: &str) {
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
    let is_control =
        |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!html.contains(is_control), "{html:?}");
}

const HOSTILE: &str = "<img src=x onerror=\"a()\">\u{1b}[2J\u{202e}&'";

#[test]
fn all_views_of_all_kinds_of_sources_are_well_formed() {
    let profile = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
        {"names": ["read", "<b>"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]}]}"#;
    let sources = [
        (profile, "container profile"),
        ("[Service]\nSystemCallFilter=@system-service\n", "systemd"),
        ("ALLOW { read, write } DEFAULT KILL", "kafel"),
        ("read: 1\nsocket: arg0 == 1\n", "minijail"),
        ("ld [0]\njeq #1, yes, no\nyes: ret #0x7fff0000\nno: ret #0\n", "bpftext"),
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
    let [one, two] = ["ALLOW { read } DEFAULT ERRNO(1)", "ALLOW { read } DEFAULT ERRNO(2)"];
    assert!(of(small, one).starts_with("Stricter"));
    assert!(of(one, two).starts_with("Both permit the same"));
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
    let allowed = of(r#", "syscall": "socket", "args": ["AF_UNIX"]"#);
    assert_eq!(field(&allowed, "status"), "x86_64 socket(AF_UNIX): ALLOW");
    assert!(field(&allowed, "body").contains("source:2:9"), "{allowed:?}");
    let denied = of(r#", "syscall": "socket", "args": ["AF_INET"]"#);
    assert!(field(&denied, "status").ends_with("KILL_THREAD"), "{denied:?}");
    assert!(field(&denied, "body").contains("default action"), "{denied:?}");
    for wrong in ["opneat", "", "99999999999", "<b>"] {
        let answer = of(&format!(r#", "syscall": "{wrong}""#));
        assert!(field(&answer, "status").starts_with("Error"), "{answer:?}");
        check(field(&answer, "messages"));
    }
}

#[test]
fn requests_that_are_none_have_messages() {
    for request in ["", "[]", "{", "{}", r#"{"view": "x"}"#, r#"{"view": "findings", "source": 1}"#]
    {
        let answer = parse(&answer(request)).unwrap();
        assert!(field(&answer, "status").starts_with("Error"), "{request}: {answer:?}");
    }
    let long = format!("\"{}\"", "a".repeat(MAX_REQUEST));
    assert!(answer(&long).contains("the maximum is 8388608"));
    let about = parse(&answer(r#"{"view": "about"}"#)).unwrap();
    assert!(about.get("arches").is_some_and(|arches| arches.items().len() > 20));
}

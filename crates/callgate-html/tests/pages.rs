//! Pages of several filters: well-formed, self-contained, accessible, of limited size, and safe for any name.

use callgate_bpf::SyscallTable;
use std::collections::HashSet;

use callgate::compile::{Execution, Options, compile, diagram};
use callgate::explain::{Explanation, explain};
use callgate::lint::Check;
use callgate::{Arch, Filter, Program, Verdict, arg};
use callgate_bpf::printable::is_printable;
use callgate_codegen::Weights;
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section as PolicySection, Test};
use callgate_core::{SyscallSet, Word};
use callgate_html::sections::{
    Comparison, Cost, Finding, ProgramCost, Subject, arguments, comparison, cost, decisions,
    findings, map, program, summary,
};
use callgate_html::{Page, STYLE, Warning};
use roxmltree::{Document, Node, ParsingOptions};

/// Everything that a page about a policy needs.
struct Made {
    store: Store,
    root: Func,
    explanation: Explanation,
    program: Program,
    execution: Execution,
    arches: Vec<Arch>,
}

fn made(policy: &Policy) -> Made {
    let mut store = Store::default();
    let root = diagram(&mut store, policy).unwrap();
    let arches: Vec<Arch> = policy.arches().collect();
    let explanation = explain(&store, root, &arches);
    let program = compile(policy, &Options::default()).unwrap().program;
    let counts = [("read".to_owned(), 5.0), ("socket".to_owned(), 2.0), ("ioctl".to_owned(), 1.0)];
    let weighted = Weights::counts(counts).unwrap().resolve(&store, root, &arches);
    let execution = Execution::new(&store, root, &program, &weighted, policy.endian());
    Made { store, root, explanation, program: program.into(), execution, arches }
}

/// A page with all sections.
fn page(name: &str, policy: &Policy) -> String {
    let made = made(policy);
    let subject = subject(name, &made);
    let endian = policy.endian();
    let hot = Some(&made.execution);
    let costs = [ProgramCost { name, execution: &made.execution }];
    let finding = Finding {
        check: Check::HighBits,
        title: name.to_owned(),
        position: name.to_owned(),
        example: name.to_owned(),
        fix: name.to_owned(),
    };
    let warning =
        Warning { place: name.to_owned(), message: name.to_owned(), help: name.to_owned() };
    let page = Page {
        title: name.to_owned(),
        facts: vec![("command", name.to_owned())],
        warnings: vec![warning],
        sections: vec![
            summary(&subject),
            map(&subject, None),
            arguments(&subject),
            findings(&[finding]),
            decisions(&made.program, endian, &made.arches, hot),
            program(&made.program, endian, &made.arches, hot),
            cost(&Cost { programs: &costs, weights: Some(name), how_to_weigh: "", measured: None }),
        ],
    };
    page.html()
}

fn subject<'a>(name: &'a str, made: &'a Made) -> Subject<'a> {
    let checks_arch = made.store.top_word(made.root) == Some(Word::ARCH);
    Subject { name, explanation: &made.explanation, checks_arch }
}

fn small() -> Policy {
    let filter = Filter::builder([Arch::X86_64, Arch::Aarch64, Arch::X32])
        .default(Verdict::errno(1))
        .allow(["read", "write", "mmap", "exit_group"])
        .unwrap()
        .rule(Verdict::KILL_PROCESS, ["ptrace"])
        .unwrap()
        .rule(Verdict::user_notif(0), ["mount"])
        .unwrap()
        .rule(Verdict::LOG, ["bpf"])
        .unwrap()
        .allow_if("socket", arg("family").eq(1))
        .unwrap()
        .allow_if("ioctl", arg("cmd").is_in([0x5401, 0x5413]))
        .unwrap()
        .build()
        .unwrap();
    filter.policy().clone()
}

/// Each syscall has a condition of its own.
fn large() -> Policy {
    let conditional = Arch::X86_64.syscalls().map(|(nr, _)| {
        let value = 1000 + u64::from(nr) * 7;
        let when = Condition::test(Test::new(Field::arg(1).unwrap(), Cmp::Eq, value));
        Rule { syscalls: SyscallSet::one(nr), when, verdict: Verdict::ALLOW }
    });
    let section = PolicySection::new(Arch::X86_64, conditional.collect(), Verdict::errno(38));
    Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
}

fn constant(verdict: Verdict) -> Policy {
    let section = PolicySection::new(Arch::S390x, Vec::new(), verdict);
    Policy::new(vec![section], verdict).unwrap()
}

fn document(page: &str) -> Document<'_> {
    let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
    Document::parse_with_options(page, options).unwrap()
}

/// Checks what holds for every page.
fn check(page: &str) {
    let document = document(page);
    let elements = || document.descendants().filter(Node::is_element);
    let mut ids = HashSet::new();
    for id in elements().filter_map(|element| element.attribute("id")) {
        assert!(ids.insert(id.to_owned()), "the id {id} occurs twice");
    }
    for element in elements() {
        let name = element.tag_name().name();
        let forbidden = ["script", "iframe", "object", "embed", "link", "img", "image", "use"];
        assert!(!forbidden.contains(&name), "{name}");
        for attribute in element.attributes() {
            assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
            assert!(!["src", "action", "formaction"].contains(&attribute.name()));
            if ["href", "for", "aria-labelledby"].contains(&attribute.name()) {
                let target = attribute.value().trim_start_matches('#');
                assert!(ids.contains(target), "nothing has the id {target}");
            }
        }
        if name == "svg" {
            let is_hidden = element.attribute("aria-hidden") == Some("true");
            assert!(is_hidden || element.attribute("aria-label").is_some());
        }
        if name == "th" {
            assert!(element.attribute("scope").is_some());
        }
    }
    assert_eq!(document.root_element().attribute("lang"), Some("en"));
    let count = |name: &str| {
        elements()
            .filter(|element| element.has_tag_name(("http://www.w3.org/1999/xhtml", name)))
            .count()
    };
    assert_eq!((count("h1"), count("main"), count("header"), count("nav")), (1, 1, 1, 1));
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    let bad = page.chars().find(|c| !is_printable(*c) && *c != '\n');
    assert_eq!(bad, None);
}

#[test]
fn pages_are_well_formed_and_self_contained() {
    for policy in [
        small(),
        large(),
        constant(Verdict::ALLOW),
        constant(Verdict::KILL_THREAD),
        constant(Verdict(0x1234_5678)),
    ] {
        check(&page("profile.json", &policy));
    }
}

#[test]
fn names_cannot_leave_their_place() {
    let names = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title></style></head><body>",
        "]]><!--",
        "a\u{1b}[2J\u{7f}\u{9b}31m\0\r\n\t",
        "\u{202e}gpj.exe\u{2066}\u{feff}\u{fffe}\u{3164}",
        "&lt;script&gt; &#60;b&#62;",
        "javascript:alert(1)",
    ];
    for name in names {
        let page = page(name, &small());
        check(&page);
        let document = document(&page);
        let heading = document.descendants().find(|node| node.tag_name().name() == "h1").unwrap();
        let shown = heading.text().unwrap();
        if name.chars().all(|c| c.is_ascii() && !c.is_control()) {
            assert_eq!(shown, name, "a printable name is shown as it is");
        } else {
            assert!(shown.contains("\\u{"), "{shown}");
        }
    }
}

#[test]
fn the_map_shows_every_syscall_once_with_its_outcome() {
    let policy = small();
    let page = page("p", &policy);
    let document = document(&page);
    let squares = document.descendants().filter(|node| {
        node.attribute("class").is_some_and(|class| class.starts_with("sq "))
            && node.descendants().any(|inner| inner.tag_name().name() == "title")
    });
    let tips: Vec<(&str, &str)> = squares
        .map(|node| {
            let title = node.descendants().find(|inner| inner.tag_name().name() == "title");
            (node.attribute("class").unwrap(), title.unwrap().text().unwrap())
        })
        .collect();
    let syscalls: usize =
        [Arch::X86_64, Arch::Aarch64, Arch::X32].map(|arch| arch.syscalls().count()).iter().sum();
    assert_eq!(tips.len(), syscalls);
    for tip in [
        ("sq allowed", "read (0): ALLOW"),
        ("sq denied", "openat (257): ERRNO(EPERM)"),
        ("sq killed", "ptrace (101): KILL_PROCESS"),
        ("sq notified", "mount (165): USER_NOTIF"),
        ("sq logged danger", "bpf (321): LOG"),
        ("sq conditional", "socket (41): ALLOW if family.low == AF_UNIX; else ERRNO(EPERM)"),
    ] {
        assert!(tips.contains(&tip), "{tip:?}");
    }
}

#[test]
fn the_summary_answers_what_people_ask() {
    let made = made(&small());
    let text = summary(&subject("p", &made)).markup().into_string();
    for part in [
        "the filter always allows 5 of ",
        "It allows 2 for some arguments only.",
        "On aarch64, it allows 7 of 3",
        ", 2 of them for some arguments only.",
        "<code>bpf</code>: loads programs into the kernel",
        "It can …",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let row = |what: &str| {
        let at = text.find(&format!("<td>{what}</td>")).unwrap();
        text[at..].split("</tr>").next().unwrap().to_owned()
    };
    assert!(row("create sockets").contains(">for some arguments<"), "{}", row("create sockets"));
    assert!(row("mount file systems").contains(">another process decides<"));
    let bpf = row("load BPF programs into the kernel");
    assert!(bpf.contains("\"chip killed\">dangerous: yes<"), "{bpf}");
    assert!(row("execute programs").contains("\"chip neutral\">no<"));
    let filter = Filter::builder([Arch::X86_64, Arch::Aarch64]).allow(["read"]).unwrap();
    let made = self::made(filter.build().unwrap().policy());
    let text = summary(&subject("p", &made)).markup().into_string();
    assert!(text.contains("On aarch64, it allows 1 of 3"), "{text}");
    assert!(!text.contains("for some arguments only"), "nothing depends on arguments: {text}");
}

/// A picture hides its links from screen readers, and what is scrolled needs a name.
#[test]
fn links_regions_and_headers_are_accessible() {
    for policy in [small(), large()] {
        let page = page("p", &policy);
        let document = document(&page);
        for node in document.descendants().filter(Node::is_element) {
            let has = |name| node.attribute(name).is_some_and(|value| !value.is_empty());
            let in_picture = || node.ancestors().any(|own| own.attribute("role") == Some("img"));
            assert!(node.tag_name().name() != "a" || !in_picture(), "{node:?}");
            assert!(!has("tabindex") || has("role") && has("aria-label"), "{node:?}");
            let is_header = node.tag_name().name() == "th";
            let is_empty = || node.descendants().all(|own| !own.is_text());
            assert!(!is_header || !is_empty(), "{node:?}");
        }
    }
}

/// Sheets of paper cannot be scrolled: a tree that does not fit is printed as text.
#[test]
fn large_trees_are_printed_as_text() {
    let small = Filter::builder(Arch::X86_64).allow(["read"]).unwrap().build().unwrap();
    let (small, large) = (page("p", small.policy()), page("p", &large()));
    for (page, is_large) in [(small, false), (large, true)] {
        assert_eq!(page.contains(r#"class="canvas large""#), is_large);
        assert_eq!(page.contains("too large for paper"), is_large);
    }
    let print = STYLE.split("@media print").nth(1).unwrap();
    assert!(print.contains(".canvas.large { display: none; } .paper { display: block; }"));
    assert!(print.contains(".listing:not([open])::details-content { content-visibility: visible;"));
}

#[test]
fn large_filters_have_pages_of_limited_size_that_say_what_is_left_out() {
    let page = page("large", &large());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("more tables are left out"));
    assert!(page.contains("The tree is large: "), "{} nodes", page.matches("class=\"node").count());
    assert!(page.matches("class=\"node").count() <= 1200);
    check(&page);
}

#[test]
fn shared_code_is_drawn_once_and_referred_to() {
    let page = page("p", &small());
    let document = document(&page);
    let of_class = |class: &str| {
        document
            .descendants()
            .filter(|node| node.attribute("class").is_some_and(|own| own.starts_with(class)))
            .count()
    };
    let made = made(&small());
    let branches = made.program.iter().filter(|insn| insn.op.is_branch()).count();
    assert_eq!(of_class("node question"), branches, "each branch is drawn once");
    assert_eq!(of_class("edge"), 2 * branches);
    assert!(of_class("edge yes hot") + of_class("edge no hot") > 0);
    for question in ["arch = x86_64", "family = AF_UNIX"] {
        let is_asked = document.descendants().any(|node| node.text() == Some(question));
        assert!(is_asked, "{question}");
    }
}

#[test]
fn the_listing_has_all_instructions_and_the_hot_path() {
    let page = page("p", &small());
    let made = made(&small());
    let document = document(&page);
    let lines = |class: &str| {
        let own = |node: &Node<'_, '_>| node.attribute("class") == Some(class);
        document.descendants().filter(own).count()
    };
    assert_eq!(lines("line") + lines("line hot"), made.program.len());
    assert!(lines("line hot") >= 3);
}

#[test]
fn comparisons_name_what_was_added_removed_and_changed() {
    let filter = |allowed: &[&str], family: u64| {
        let builder = Filter::builder(Arch::X86_64).default(Verdict::errno(1));
        let builder = builder.allow(allowed.iter().copied()).unwrap();
        let builder = builder.allow_if("socket", arg("family").eq(family)).unwrap();
        builder.build().unwrap().policy().clone()
    };
    let (before, after) = (filter(&["read", "write"], 1), filter(&["read", "openat"], 2));
    let mut store = Store::default();
    let roots = [&before, &after].map(|policy| diagram(&mut store, policy).unwrap());
    let explanations = roots.map(|root| explain(&store, root, &[Arch::X86_64]));
    let names = ["<before>", "after"];
    let [a, b] = &explanations;
    let compared = Comparison::new(&store, roots, [a, b], names);
    let text = comparison(&compared).markup().into_string();
    for part in [
        "x86_64: 1 added, 1 removed, 1 changed",
        "<td class=\"names\">openat</td>",
        "<td class=\"names\">write</td>",
        "ALLOW if family.low == AF_UNIX",
        "ALLOW if family.low == AF_INET",
        "&lt;before&gt;",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let subject = Subject { name: "after", explanation: b, checks_arch: true };
    let map = map(&subject, Some(&compared)).markup().into_string();
    assert!(map.contains("openat (257): ALLOW. Before: ERRNO(EPERM)"));
    // One more in the legend.
    assert_eq!(map.matches(" changed\"").count(), 4);
    let same = Comparison::new(&store, [roots[0]; 2], [a, a], names);
    assert!(comparison(&same).markup().as_str().contains("the same for every possible syscall"));
}

#[test]
fn comparisons_count_numbers_without_a_name() {
    let policy = |numbers: &[u32]| {
        let rule = |nr: &u32| Rule {
            syscalls: SyscallSet::one(*nr),
            when: Condition::always(),
            verdict: Verdict::ALLOW,
        };
        let rules = numbers.iter().map(rule).collect();
        let section = PolicySection::new(Arch::X86_64, rules, Verdict::errno(1));
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    };
    let mut store = Store::default();
    let roots = [policy(&[0]), policy(&[1, 0x6_ddd0]), policy(&[0, 1])]
        .map(|policy| diagram(&mut store, &policy).unwrap());
    let explanations = roots.map(|root| explain(&store, root, &[Arch::X86_64]));
    let text = |from: usize, to: usize| {
        let explained = [&explanations[from], &explanations[to]];
        let compared =
            Comparison::new(&store, [roots[from], roots[to]], explained, ["before", "after"]);
        comparison(&compared).markup().into_string()
    };
    assert!(text(0, 2).contains("It allows all that before allows."));
    assert!(text(2, 0).contains("after allows nothing that before denies."));
    let more = text(2, 1);
    assert!(more.contains("after allows only numbers without a name"), "{more}");
    let less = text(1, 2);
    assert!(less.contains("It denies only numbers without a name"), "{less}");
}

/// The luminance of a colour `#rgb` or `#rrggbb` by WCAG 2.
fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let size = digits.len() / 3;
    let channel = |at: usize| {
        let digits = &digits[at * size..(at + 1) * size];
        let value = u8::from_str_radix(&digits.repeat(3 - size), 16).unwrap();
        let value = f64::from(value) / 255.0;
        if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * channel(0) + 0.7152 * channel(1) + 0.0722 * channel(2)
}

#[test]
fn colours_have_enough_contrast_in_every_palette() {
    let palettes: Vec<&str> =
        STYLE.split(":root {").skip(1).filter(|rest| rest.contains("--ink")).collect();
    let palettes: Vec<&str> = palettes
        .iter()
        .map(|rest| rest.split('}').next().unwrap())
        .filter(|palette| palette.contains("--ink:"))
        .collect();
    assert_eq!(palettes.len(), 3, "light, dark and printed");
    for palette in palettes {
        let colour = |name: &str| {
            let value =
                palette.split(&format!("--{name}: ")).nth(1).unwrap_or_else(|| panic!("{name}"));
            value.split(';').next().unwrap()
        };
        let contrast = |a: &str, b: &str| {
            let (a, b) = (luminance(colour(a)), luminance(colour(b)));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for (text, ground) in [
            ("ink", "paper"),
            ("quiet", "paper"),
            ("link", "paper"),
            ("ink", "raised"),
            ("quiet", "raised"),
            ("link", "raised"),
            ("ink", "allowed"),
            ("ink", "conditional"),
            ("ink", "denied"),
            ("ink", "asked"),
            ("killed-ink", "killed"),
        ] {
            let contrast = contrast(text, ground);
            assert!(contrast >= 4.5, "{text} on {ground}: {contrast:.2}");
        }
        for edge in [
            "allowed-edge",
            "conditional-edge",
            "denied-edge",
            "asked-edge",
            "killed",
            "hot",
            "bar",
            "mark",
        ] {
            let contrast = contrast(edge, "paper");
            assert!(contrast >= 3.0, "{edge}: {contrast:.2}");
        }
    }
}

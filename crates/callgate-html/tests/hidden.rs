//! The page shows no text with hidden characters: its list of them is ours.

use callgate_bpf::printable::{HIDDEN, Hidden};

const SCRIPT: &str = include_str!("../../../web/hidden.js");

/// The words of a list in the script.
fn in_script(name: &str) -> Vec<&'static str> {
    let start = format!("const {name} = classOf(`");
    let (_, list) = SCRIPT.split_once(&start).expect("the script has the list");
    let (list, _) = list.split_once('`').expect("the list has an end");
    list.split_whitespace().collect()
}

/// The characters that are hidden for some reason, as the script has them: intervals without gaps between them are one.
fn expected(is_in: impl Fn(Hidden) -> bool) -> Vec<String> {
    let mut intervals: Vec<(u32, u32)> = Vec::new();
    for (first, last, _) in HIDDEN.iter().filter(|(.., why)| is_in(*why)) {
        let (first, last) = (u32::from(*first), u32::from(*last));
        match intervals.last_mut() {
            Some((_, end)) if *end + 1 == first => *end = last,
            _ => intervals.push((first, last)),
        }
    }
    let word = |(first, last)| match first == last {
        true => format!("{first:x}"),
        false => format!("{first:x}-{last:x}"),
    };
    intervals.into_iter().map(word).collect()
}

#[test]
fn the_lists_of_the_page_are_ours() {
    for (name, list) in [
        ("HIDDEN", expected(|_| true)),
        ("DIRECTION", expected(|why| why == Hidden::Bidirectional)),
    ] {
        assert_eq!(in_script(name), list, "correct web/hidden.js: {}", list.join(" "));
    }
}

//! Names in preprocessed headers.

use super::selection::{ENUMS, is_selected};

/// The selected macros in the output of `-dM` that have a value and no parameters.
pub(super) fn macros(definitions: &str) -> Vec<String> {
    let names = definitions.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("#define ")?.split_once(' ')?;
        (!name.contains('(') && !value.trim().is_empty() && is_selected(name))
            .then(|| name.to_owned())
    });
    names.collect()
}

/// The selected names of all enumerations in a preprocessed text.
pub(super) fn enumerations(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("enum ") {
        rest = after;
        let Some((tag, body)) = after.split_once('{') else { break };
        let tag = tag.trim();
        if !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let Some((body, after)) = body.split_once('}') else { break };
        rest = after;
        let whole = ENUMS.contains(&tag);
        names.extend(enumerators(body).into_iter().filter(|name| {
            (whole || is_selected(name)) && !name.starts_with("__MAX") && !name.starts_with("__BPF")
        }));
    }
    names
}

/// The names in the body of an enumeration.
pub(super) fn enumerators(body: &str) -> Vec<String> {
    // A comma in an expression with parentheses would end the name early; what follows is then not a name.
    let body = without_comments(body);
    let lines: String =
        body.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    let names = lines.split(',').filter_map(|one| {
        let name = one.split('=').next()?.trim();
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_name.then(|| name.to_owned())
    });
    names.collect()
}

/// A text without comments of C.
pub(super) fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        kept += before;
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_with_a_value_are_names() {
        let text = "#define AF_ALG 38\n#define AF_EMPTY \n#define O_X(a) a\n#define other 1\n";
        assert_eq!(macros(text), ["AF_ALG"]);
    }

    #[test]
    fn enumerators_are_names() {
        let text = "# 1 \"x.h\"\nenum bpf_cmd {\n BPF_MAP_CREATE,\n# 5 \"x.h\"\n BPF_LAST = (1 << 2), __BPF_X };\n\
            struct s { enum bpf_cmd x; };\nenum { IPPROTO_IP = 0, /* a, b */ other };";
        assert_eq!(enumerations(text), ["BPF_MAP_CREATE", "BPF_LAST", "IPPROTO_IP"]);
    }
}

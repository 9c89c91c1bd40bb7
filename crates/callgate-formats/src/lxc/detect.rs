//! Detection of profiles of LXC.

/// Whether a text begins as a profile: with a version and a policy. A number and a line break may also begin the output
/// of `tcpdump -ddd`.
pub(super) fn is_lxc_profile(text: &[u8]) -> bool {
    const POLICIES: [&[u8]; 4] = [b"allowlist", b"denylist", b"whitelist", b"blacklist"];
    let text = text.trim_ascii_start();
    let policy = text.strip_prefix(b"1").or_else(|| text.strip_prefix(b"2"));
    let policy = policy.filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace));
    policy.is_some_and(|rest| POLICIES.iter().any(|name| rest.trim_ascii_start().starts_with(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_begin_with_a_version_and_a_policy() {
        for profile in
            ["2\ndenylist", "1\nallowlist\n3", " 2\r\n\nblacklist errno 1", "2 whitelist"]
        {
            assert!(is_lxc_profile(profile.as_bytes()), "{profile}");
        }
        for text in ["", "2", "2\n32 0 0 4\n6 0 0 0", "3\ndenylist", "21\ndenylist", "denylist"] {
            assert!(!is_lxc_profile(text.as_bytes()), "{text}");
        }
    }
}

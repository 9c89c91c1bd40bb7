//! Values of directives: booleans, errnos, address families and namespaces.

use super::arches::{eafnosupport, has_own_numbers};
use super::groups::SystemdVersion;
use callgate_core::{Arch, errno_number};

/// A boolean (`parse_boolean` in `parse-util.c`).
pub(super) fn boolean(text: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    match text {
        _ if is_one_of(&["1", "yes", "y", "true", "t", "on"]) => Some(true),
        _ if is_one_of(&["0", "no", "n", "false", "f", "off"]) => Some(false),
        _ => None,
    }
}

/// An errno by name or number, up to 4095 (`parse_errno` in `parse-util.c`).
///
/// # Errors
/// Why it is not one.
pub(super) fn errno(text: &str, native: Arch) -> Result<u16, &'static str> {
    let invalid = "expected a name such as EPERM, or a number up to 4095";
    let Some(number) = errno_number(text) else {
        let number = integer(text).and_then(|number| u16::try_from(number).ok());
        return number.filter(|number| *number <= 4095).ok_or(invalid);
    };
    match text {
        "EDEADLOCK" if matches!(native, Arch::Ppc | Arch::Ppc64 | Arch::Ppc64le) => Ok(58),
        _ if number <= 34 || !has_own_numbers(native) => Ok(number),
        "ENOSYS" => Ok(native.enosys()),
        "EAFNOSUPPORT" => Ok(eafnosupport(native)),
        _ => Err("the number of this errno differs on MIPS and PA-RISC; give the number"),
    }
}

/// An integer: decimal, octal after `0` or `0o`, hexadecimal after `0x`, or binary after `0b` (`safe_atoi` in
/// `parse-util.c`). A sign stands after `0o` and `0b`, but before `0x`, because `strtol` reads it.
fn integer(text: &str) -> Option<i64> {
    /// What `isspace` accepts.
    const SPACE: [char; 6] = [' ', '\t', '\n', '\u{b}', '\u{c}', '\r'];
    let prefixed =
        |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    let (base, rest) = match (prefixed(["0b", "0B"]), prefixed(["0o", "0O"])) {
        (Some(rest), _) => (Some(2), rest),
        (_, Some(rest)) => (Some(8), rest),
        _ => (None, text),
    };
    let rest = rest.trim_start_matches(SPACE);
    let (is_negative, digits) = match (rest.strip_prefix('-'), rest.strip_prefix('+')) {
        (Some(digits), _) => (true, digits),
        (_, Some(digits)) => (false, digits),
        _ => (false, rest),
    };
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (base, digits) = match (base, hexadecimal) {
        (Some(base), _) => (base, digits),
        (None, Some(digits)) => (16, digits),
        (None, None) if digits.starts_with('0') => (8, digits),
        (None, None) => (10, digits),
    };
    // A second sign is not a digit.
    let is_digit = |c: char| c.is_digit(base);
    let number = i64::from_str_radix(digits, base).ok().filter(|_| digits.chars().all(is_digit))?;
    Some(if is_negative { -number } else { number })
}

/// Whether a host name is valid (`hostname_is_valid` in `hostname-util.c`, without flags).
pub(super) fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty()
            && label.chars().all(is_letter)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= HOST_NAME_MAX && name.split('.').all(is_label)
}

/// The maximum length of a host name (`HOST_NAME_MAX`).
const HOST_NAME_MAX: usize = 64;

/// The number of an address family. `AF_UNSPEC` has no name in systemd (`generate-af-list.sh`).
pub(super) fn family(name: &str) -> Option<u16> {
    FAMILIES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The names of the address families.
pub(super) fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(name, _)| *name)
}

/// The number after the last address family (`AF_MAX`).
pub const FAMILY_END: u16 = 46;

/// The names of the address families with their numbers, in the order of the numbers (`include/linux/socket.h`).
#[rustfmt::skip]
pub const FAMILIES: &[(&str, u16)] = &[
    ("AF_UNIX", 1), ("AF_LOCAL", 1), ("AF_FILE", 1), ("AF_INET", 2), ("AF_AX25", 3), ("AF_IPX", 4), ("AF_APPLETALK", 5),
    ("AF_NETROM", 6), ("AF_BRIDGE", 7), ("AF_ATMPVC", 8), ("AF_X25", 9), ("AF_INET6", 10), ("AF_ROSE", 11),
    ("AF_DECnet", 12), ("AF_NETBEUI", 13), ("AF_SECURITY", 14), ("AF_KEY", 15), ("AF_NETLINK", 16), ("AF_ROUTE", 16),
    ("AF_PACKET", 17), ("AF_ASH", 18), ("AF_ECONET", 19), ("AF_ATMSVC", 20), ("AF_RDS", 21), ("AF_SNA", 22),
    ("AF_IRDA", 23), ("AF_PPPOX", 24), ("AF_WANPIPE", 25), ("AF_LLC", 26), ("AF_IB", 27), ("AF_MPLS", 28),
    ("AF_CAN", 29), ("AF_TIPC", 30), ("AF_BLUETOOTH", 31), ("AF_IUCV", 32), ("AF_RXRPC", 33), ("AF_ISDN", 34),
    ("AF_PHONET", 35), ("AF_IEEE802154", 36), ("AF_CAIF", 37), ("AF_ALG", 38), ("AF_NFC", 39), ("AF_VSOCK", 40),
    ("AF_KCM", 41), ("AF_QIPCRTR", 42), ("AF_SMC", 43), ("AF_XDP", 44), ("AF_MCTP", 45),
];

/// The flag of `clone(2)` for a type of namespace.
pub(super) fn namespace(name: &str) -> Option<u64> {
    NAMESPACES.iter().find(|(known, _)| *known == name).map(|(_, flag)| *flag)
}

/// The types of namespaces of `RestrictNamespaces=` with their flags (`namespace_info` in `namespace-util.c`).
pub const NAMESPACES: &[(&str, u64)] = &[
    ("cgroup", 0x0200_0000),
    ("ipc", 0x0800_0000),
    ("net", 0x4000_0000),
    ("mnt", 0x0002_0000),
    ("pid", 0x2000_0000),
    ("user", 0x1000_0000),
    ("uts", 0x0400_0000),
    ("time", 0x80),
];

/// The flags of the namespaces that are retained unless they are named.
pub(super) fn all_namespaces(version: SystemdVersion) -> u64 {
    let is_retained = |name: &str| name != "time" || version.retains_time_namespaces();
    let retained = NAMESPACES.iter().filter(|(name, _)| is_retained(name));
    retained.fold(0, |all, (_, flag)| all | flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_words_in_any_case() {
        for (text, expected) in [
            ("YES", Some(true)),
            ("on", Some(true)),
            ("F", Some(false)),
            ("0", Some(false)),
            ("", None),
            ("2", None),
            ("yess", None),
        ] {
            assert_eq!(boolean(text), expected, "{text}");
        }
    }

    #[test]
    fn errnos_are_names_or_numbers() {
        for (text, expected) in [
            ("EPERM", 1),
            ("0", 0),
            ("4095", 4095),
            ("0x26", 38),
            ("017", 15),
            ("EWOULDBLOCK", 11),
            ("EHWPOISON", 133),
            // As `strtol` reads them, after the prefixes that systemd itself knows.
            ("+1", 1),
            ("-0", 0),
            ("+0x10", 16),
            ("0b101", 5),
            ("0B1", 1),
            ("0b+1", 1),
            ("0o17", 15),
            ("0O017", 15),
        ] {
            assert_eq!(errno(text, Arch::X86_64), Ok(expected), "{text}");
        }
        for text in [
            "",
            "4096",
            "-1",
            "eperm",
            "08",
            "0x",
            "65537",
            "é",
            "++1",
            "+-1",
            "0x+1",
            "+0b1",
            "0b2",
            "0b",
            "0o8",
            "1 ",
            "0b-1",
            "99999999999999999999",
        ] {
            assert!(errno(text, Arch::X86_64).is_err(), "{text}");
        }
        assert_eq!(errno("ENOSYS", Arch::Mips), Ok(89));
        assert_eq!(errno("EPERM", Arch::Mips), Ok(1));
        assert!(errno("ELOOP", Arch::Mips).is_err());
        assert_eq!(errno("EDEADLOCK", Arch::X86_64), Ok(35));
        assert_eq!(errno("EDEADLOCK", Arch::Ppc64le), Ok(58));
        assert_eq!(errno("EDEADLK", Arch::Ppc64le), Ok(35));
    }

    #[test]
    fn host_names_consist_of_labels() {
        for valid in ["a", "A-1.b", "localhost", &"x".repeat(64)] {
            assert!(is_host_name(valid), "{valid}");
        }
        for invalid in
            ["", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a_b", "é", &"x".repeat(65)]
        {
            assert!(!is_host_name(invalid), "{invalid}");
        }
    }

    #[test]
    fn address_families_are_below_the_end() {
        assert_eq!(FAMILIES.iter().map(|(_, number)| number + 1).max(), Some(FAMILY_END));
        assert_eq!((family("AF_UNSPEC"), family("AF_NETLINK")), (None, family("AF_ROUTE")));
        assert_eq!(all_namespaces(SystemdVersion::LATEST), 0x7e02_0080);
        assert_eq!(SystemdVersion::new(257).map(all_namespaces), Some(0x7e02_0000));
    }
}

//! Values of directives: booleans, errnos, address families and namespaces.

use super::arches::{eafnosupport, has_own_numbers};
use super::groups::SystemdVersion;
use callgate_bpf::constants;
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
    families().find(|(known, _)| *known == name).map(|(_, number)| number)
}

/// The names of the address families with their numbers, in the order of the numbers.
pub fn families() -> impl Iterator<Item = (&'static str, u16)> {
    FAMILIES.iter().filter_map(|name| Some((*name, family_number(name)?)))
}

/// The number after the last address family (`AF_MAX`).
pub fn family_end() -> u16 {
    family_number("AF_MAX").unwrap_or(u16::MAX)
}

/// The number of a name that systemd knows. All architectures have the same numbers.
fn family_number(name: &str) -> Option<u16> {
    let name = match name {
        // A name of the C library only.
        "AF_FILE" => "AF_LOCAL",
        // The table has no names with lower-case letters.
        "AF_DECnet" => return Some(AF_DECNET),
        name => name,
    };
    constants::value(Arch::X86_64, name).and_then(|value| value.try_into().ok())
}

/// AF_DECnet (`include/linux/socket.h`).
const AF_DECNET: u16 = 12;

/// The names of the address families, in the order of their numbers.
#[rustfmt::skip]
const FAMILIES: [&str; 48] = [
    "AF_UNIX", "AF_LOCAL", "AF_FILE", "AF_INET", "AF_AX25", "AF_IPX", "AF_APPLETALK", "AF_NETROM", "AF_BRIDGE", "AF_ATMPVC",
    "AF_X25", "AF_INET6", "AF_ROSE", "AF_DECnet", "AF_NETBEUI", "AF_SECURITY", "AF_KEY", "AF_NETLINK", "AF_ROUTE",
    "AF_PACKET", "AF_ASH", "AF_ECONET", "AF_ATMSVC", "AF_RDS", "AF_SNA", "AF_IRDA", "AF_PPPOX", "AF_WANPIPE", "AF_LLC",
    "AF_IB", "AF_MPLS", "AF_CAN", "AF_TIPC", "AF_BLUETOOTH", "AF_IUCV", "AF_RXRPC", "AF_ISDN", "AF_PHONET",
    "AF_IEEE802154", "AF_CAIF", "AF_ALG", "AF_NFC", "AF_VSOCK", "AF_KCM", "AF_QIPCRTR", "AF_SMC", "AF_XDP", "AF_MCTP",
];

/// The flag of `clone(2)` for a type of namespace.
pub(super) fn namespace(name: &str) -> Option<u64> {
    namespaces().find(|(known, _)| *known == name).map(|(_, flag)| flag)
}

/// The types of namespaces of `RestrictNamespaces=` with their flags, which all architectures share.
pub fn namespaces() -> impl Iterator<Item = (&'static str, u64)> {
    let flag = |name| constants::value(Arch::X86_64, name);
    NAMESPACES.iter().filter_map(move |(name, constant)| Some((*name, flag(constant)?)))
}

/// The types of namespaces, and the names of their flags (`namespace_info` in `namespace-util.c`).
const NAMESPACES: [(&str, &str); 8] = [
    ("cgroup", "CLONE_NEWCGROUP"),
    ("ipc", "CLONE_NEWIPC"),
    ("net", "CLONE_NEWNET"),
    ("mnt", "CLONE_NEWNS"),
    ("pid", "CLONE_NEWPID"),
    ("user", "CLONE_NEWUSER"),
    ("uts", "CLONE_NEWUTS"),
    ("time", "CLONE_NEWTIME"),
];

/// The flags of the namespaces that are retained unless they are named.
pub(super) fn all_namespaces(version: SystemdVersion) -> u64 {
    let is_retained = |name: &str| name != "time" || version.retains_time_namespaces();
    let retained = namespaces().filter(|(name, _)| is_retained(name));
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
    fn every_name_has_the_same_value_on_all_architectures() {
        assert_eq!(families().count(), FAMILIES.len());
        assert_eq!(namespaces().count(), NAMESPACES.len());
        let flags = NAMESPACES.iter().map(|(_, constant)| *constant);
        for name in FAMILIES.into_iter().chain(flags).chain(["AF_MAX"]) {
            let value = |arch: &Arch| constants::value(*arch, name);
            let usual = value(&Arch::X86_64);
            assert_eq!(usual.is_none(), ["AF_FILE", "AF_DECnet"].contains(&name), "{name}");
            assert!(Arch::ALL.iter().all(|arch| value(arch) == usual), "{name}");
        }
        assert_eq!((family("AF_FILE"), family("AF_DECnet")), (Some(1), Some(12)));
        assert_eq!((family("AF_XDP"), family("AF_MCTP")), (Some(44), Some(45)));
    }

    /// Each number from 1 to the last has a name, in order.
    #[test]
    fn address_families_are_below_the_end() {
        let mut numbers: Vec<u16> = families().map(|(_, number)| number).collect();
        assert!(numbers.is_sorted());
        numbers.dedup();
        assert!(numbers.into_iter().eq(1..family_end()));
        assert_eq!((family("AF_UNSPEC"), family("AF_NETLINK")), (None, family("AF_ROUTE")));
        assert_eq!(all_namespaces(SystemdVersion::LATEST), 0x7e02_0080);
        assert_eq!(SystemdVersion::new(257).map(all_namespaces), Some(0x7e02_0000));
    }
}

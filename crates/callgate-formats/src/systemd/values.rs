//! Values of directives: booleans, errnos, address families and namespaces.

use super::arches::{eafnosupport, has_own_numbers};
use super::version::SystemdVersion;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::errno_number;

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
        let (digits, radix) = match text.strip_prefix('0') {
            Some(rest) if rest.starts_with(['x', 'X']) => (rest.get(1..).unwrap_or(""), 16),
            Some(rest) if !rest.is_empty() => (rest, 8),
            _ => (text, 10),
        };
        let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
        let number = u16::from_str_radix(digits, radix).ok().filter(|number| *number <= 4095);
        return number.filter(|_| is_number).ok_or(invalid);
    };
    match text {
        _ if number <= 34 || !has_own_numbers(native) => Ok(number),
        "ENOSYS" => Ok(native.enosys()),
        "EAFNOSUPPORT" => Ok(eafnosupport(native)),
        _ => Err("the number of this errno differs on MIPS and PA-RISC; give the number"),
    }
}

/// The number of an address family. `AF_UNSPEC` has no name in systemd (`generate-af-list.sh`).
pub(super) fn family(name: &str) -> Option<u16> {
    FAMILIES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The names of the address families.
pub(super) fn families() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().map(|(name, _)| *name)
}

/// The number after the last address family (`AF_MAX`).
pub(super) const FAMILY_END: u16 = 46;

/// `include/linux/socket.h`.
#[rustfmt::skip]
const FAMILIES: &[(&str, u16)] = &[
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

/// The types of namespaces with their flags (`namespace_info` in `namespace-util.c`).
pub(super) const NAMESPACES: &[(&str, u64)] = &[
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
        for (text, expected) in
            [("EPERM", 1), ("0", 0), ("4095", 4095), ("0x26", 38), ("017", 15), ("EWOULDBLOCK", 11)]
        {
            assert_eq!(errno(text, Arch::X86_64), Ok(expected), "{text}");
        }
        for text in ["", "4096", "-1", "+1", "eperm", "08", "0x", "65537", " 1", "é"] {
            assert!(errno(text, Arch::X86_64).is_err(), "{text}");
        }
        assert_eq!(errno("ENOSYS", Arch::Mips), Ok(89));
        assert_eq!(errno("EPERM", Arch::Mips), Ok(1));
        assert!(errno("ELOOP", Arch::Mips).is_err());
    }

    #[test]
    fn address_families_are_below_the_end() {
        assert_eq!(FAMILIES.iter().map(|(_, number)| number + 1).max(), Some(FAMILY_END));
        assert_eq!((family("AF_UNSPEC"), family("AF_NETLINK")), (None, family("AF_ROUTE")));
        assert_eq!(all_namespaces(SystemdVersion::LATEST), 0x7e02_0080);
        assert_eq!(SystemdVersion::new(257).map(all_namespaces), Some(0x7e02_0000));
    }
}

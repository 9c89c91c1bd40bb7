//! What makes the bound incomplete.

/// What makes the bound incomplete, or larger than necessary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remark {
    /// Code loads libraries whose names are known at run time only (dlopen).
    LoadsLibraries {
        /// The file.
        file: String,
        /// The function that it calls.
        function: String,
    },
    /// Functions are looked up by name (dlsym); those whose names the file contains are taken into account.
    LooksUpNames {
        /// The file.
        file: String,
    },
    /// The C library may load modules for names of users and hosts.
    NameServices {
        /// The file.
        file: String,
        /// The function that it calls.
        function: String,
    },
    /// The C library may load modules for character sets.
    CharacterSets {
        /// The file.
        file: String,
    },
    /// Memory is made executable: code that is generated at run time is not analysed.
    ExecutableMemory {
        /// Where.
        place: String,
    },
    /// Syscalls of a 32-bit architecture, which are not analysed.
    OtherArchitecture {
        /// Where.
        place: String,
    },
    /// All functions of a Go program count as reachable.
    AllOfGo {
        /// The file.
        file: String,
    },
    /// A symbol has no definition, so that a library is missing.
    Undefined {
        /// The file.
        file: String,
        /// How many.
        count: usize,
        /// One of them.
        example: String,
    },
}

/// Functions of the C library that ask its modules (nsswitch.conf).
const NAME_SERVICES: &[&str] = &[
    "getpwnam",
    "getpwnam_r",
    "getpwuid",
    "getpwuid_r",
    "getpwent",
    "getgrnam",
    "getgrnam_r",
    "getgrgid",
    "getgrgid_r",
    "getgrent",
    "getgrouplist",
    "initgroups",
    "getspnam",
    "getspnam_r",
    "gethostbyname",
    "gethostbyname2",
    "gethostbyname_r",
    "gethostbyname2_r",
    "gethostbyaddr",
    "gethostbyaddr_r",
    "getaddrinfo",
    "getnameinfo",
    "getservbyname",
    "getservbyname_r",
    "getservbyport",
    "getprotobyname",
    "getnetgrent",
    "innetgr",
];

/// What a function whose name is imported means for the bound.
pub(crate) fn of_import(name: &str, file: &str) -> Option<Remark> {
    let file = file.to_owned();
    match name {
        "dlopen" | "dlmopen" => Some(Remark::LoadsLibraries { file, function: name.to_owned() }),
        "dlsym" | "dlvsym" => Some(Remark::LooksUpNames { file }),
        "iconv_open" => Some(Remark::CharacterSets { file }),
        _ if NAME_SERVICES.contains(&name) => {
            Some(Remark::NameServices { file, function: name.to_owned() })
        }
        _ => None,
    }
}

/// Whether a function matters for remarks.
pub(crate) fn is_of_interest(name: &str) -> bool {
    of_import(name, "").is_some()
}

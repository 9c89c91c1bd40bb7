//! Functions of C libraries that make another syscall than that of their name.

/// Functions of C libraries with the name of a syscall that make another one, and which syscall to ask about.
const WRAPPERS: [(&str, &str); 16] = [
    ("open", "open in the C library makes openat: callgate why SOURCE openat tells"),
    (
        "creat",
        "creat in the C library makes openat on most architectures: callgate why SOURCE openat tells",
    ),
    ("fork", "fork in the C library makes clone: callgate why SOURCE clone tells"),
    ("vfork", "vfork in the C library makes vfork or clone: callgate why SOURCE clone tells"),
    (
        "stat",
        "stat in the C library makes newfstatat or statx: callgate why SOURCE newfstatat tells",
    ),
    (
        "lstat",
        "lstat in the C library makes newfstatat or statx: callgate why SOURCE newfstatat tells",
    ),
    (
        "fstat",
        "fstat in the C library makes newfstatat or fstat: callgate why SOURCE newfstatat tells",
    ),
    (
        "getrlimit",
        "getrlimit in the C library makes prlimit64: callgate why SOURCE prlimit64 tells",
    ),
    (
        "setrlimit",
        "setrlimit in the C library makes prlimit64: callgate why SOURCE prlimit64 tells",
    ),
    ("send", "send in the C library makes sendto: callgate why SOURCE sendto tells"),
    ("recv", "recv in the C library makes recvfrom: callgate why SOURCE recvfrom tells"),
    ("waitpid", "waitpid in the C library makes wait4: callgate why SOURCE wait4 tells"),
    ("nice", "nice in the C library makes setpriority: callgate why SOURCE setpriority tells"),
    ("eventfd", "eventfd in the C library makes eventfd2: callgate why SOURCE eventfd2 tells"),
    ("signalfd", "signalfd in the C library makes signalfd4: callgate why SOURCE signalfd4 tells"),
    ("pipe", "pipe in the C library makes pipe2 or pipe: callgate why SOURCE pipe2 tells"),
];

/// Which syscall to ask about instead of a function that has the name of another one.
pub(super) fn wrapped(function: &str) -> Option<&'static str> {
    WRAPPERS.iter().find(|(name, _)| *name == function).map(|(_, why)| *why)
}

/// Functions that make another syscall than that of their name, besides those above, or none at all.
const OTHERS: [&str; 27] = [
    "alarm",
    "access",
    "epoll_create",
    "epoll_wait",
    "futimesat",
    "getdents",
    "inotify_init",
    "mknod",
    "mq_open",
    "msgctl",
    "nanosleep",
    "pause",
    "poll",
    "readdir",
    "select",
    "semctl",
    "semop",
    "shmctl",
    "sigaction",
    "signal",
    "sigpending",
    "sigprocmask",
    "sigsuspend",
    "syscall",
    "time",
    "utime",
    "utimes",
];

/// Whether a function makes another syscall than that of its name on some architecture or in some version of a C library.
pub(super) fn makes_another(function: &str) -> bool {
    wrapped(function).is_some() || OTHERS.contains(&function)
}

//! Functions and macros of which it is known what they do with an array.

/// Whether a function copies what an argument points to: `memcpy`, `std::copy`, `memdup`.
pub(super) fn is_copy(function: &str) -> bool {
    ["cpy", "copy", "move", "dup"].iter().any(|part| function.contains(part))
}

/// Whether a function only reads what an argument points to: for a program the kernel's interface to install it, under the
/// name of a usual wrapper, and `memset`, after which there is no program; for an array functions and macros of libraries.
pub(super) fn is_reader(function: &str, is_only: bool, is_program: bool) -> bool {
    const INSTALL: [&str; 7] =
        ["prctl", "seccomp", "syscall", "setsockopt", "ioctl", "setfilter", "attach_filter"];
    const WRAPPERS: [&str; 6] = ["sys_", "safe_", "raw_", "real_", "internal_", "pcap_"];
    const PRINT: [&str; 11] = [
        "printf",
        "fprintf",
        "dprintf",
        "write",
        "send",
        "sendto",
        "fwrite",
        "free",
        "assert",
        "memcmp",
        "bpf_validate",
    ];
    /// The words in the names of macros for the number of elements.
    const COUNT: [&str; 24] = [
        "ARRAY",
        "ARRAYSIZE",
        "ARRAYLEN",
        "ARRAYLENGTH",
        "ARRAYCOUNT",
        "SIZE",
        "SIZEOF",
        "LEN",
        "LENGTH",
        "LENGTHOF",
        "COUNT",
        "COUNTOF",
        "ELEMENTS",
        "ELEMENTSOF",
        "ELEMS",
        "NELEM",
        "NELEMS",
        "NELEMENTS",
        "NELTS",
        "ITEMS",
        "NITEMS",
        "NUM",
        "N",
        "OF",
    ];
    let lower = function.to_ascii_lowercase();
    let name = lower.trim_start_matches('_');
    let name = WRAPPERS.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
    let is_count = || {
        let upper = function.to_ascii_uppercase();
        let upper = upper.strip_prefix("G_").unwrap_or(&upper);
        let mut words = upper.split('_').filter(|word| !word.is_empty());
        is_only && words.all(|word| COUNT.contains(&word))
    };
    let clears = matches!(function, "memset" | "bzero" | "__builtin_memset");
    (is_program && (INSTALL.contains(&name) || clears)) || PRINT.contains(&function) || is_count()
}

//! The names in emitted source code, and words that are not names there.

use callgate_core::errno_number;
use callgate_core::template::Variable;

use super::language::{EmitError, EmitErrorKind, SourceLanguage};

/// The names of an array and of the functions around it.
pub(super) struct Names {
    /// The array; for a program with variables, the one that has no values yet.
    pub(super) array: String,
    /// The function that returns or sets the program for the values of variables.
    pub(super) function: String,
    /// The function that installs the filter in all threads.
    pub(super) installer: String,
    /// The function that installs it in the calling thread.
    pub(super) in_thread: String,
    /// The function that takes the flags.
    pub(super) with_flags: String,
    /// In C, the structure that points to the array.
    pub(super) program: String,
}

impl Names {
    /// The names for the given one, in the style of the language. If the filter has a listener, they say so.
    pub(super) fn new(
        language: SourceLanguage,
        given: Option<&str>,
        has_variables: bool,
        listens: bool,
    ) -> Names {
        let name = given.unwrap_or("filter");
        let template = |suffix: &str| if has_variables { suffix.to_owned() } else { String::new() };
        let snake = |name: &str| {
            let listener = if listens { "_listener" } else { "" };
            format!("install_{name}{listener}")
        };
        match language {
            SourceLanguage::C => Names {
                array: format!("{name}{}", template("_template")),
                function: format!("{name}_set"),
                installer: snake(name),
                in_thread: snake(name) + "_in_thread",
                with_flags: snake(name) + "_with",
                program: given.map_or("program".to_owned(), |name| format!("{name}_program")),
            },
            SourceLanguage::Rust => Names {
                array: format!("{}{}", name.to_uppercase(), template("_TEMPLATE")),
                function: name.to_lowercase(),
                installer: snake(&name.to_lowercase()),
                in_thread: snake(&name.to_lowercase()) + "_in_thread",
                with_flags: snake(&name.to_lowercase()) + "_with",
                program: String::new(),
            },
            SourceLanguage::Go => {
                let mut letters = name.chars();
                let (first, rest) = (letters.next().unwrap_or('f'), letters.as_str());
                // Exported if the array is.
                let install = if first.is_uppercase() { "Install" } else { "install" };
                let listener = if listens { "Listener" } else { "" };
                let installer = format!("{install}{}{rest}{listener}", first.to_uppercase());
                Names {
                    array: format!("{name}{}", template("Template")),
                    function: format!("{name}For"),
                    in_thread: format!("{installer}InThread"),
                    with_flags: format!("{installer}With"),
                    installer,
                    program: String::new(),
                }
            }
        }
    }

    /// Fails if a name is not one of the language.
    pub(super) fn check(&self, language: SourceLanguage) -> Result<(), EmitError> {
        let Names { array, function, installer, in_thread, with_flags, program } = self;
        let names = [array, function, installer, in_thread, with_flags, program].into_iter();
        names.filter(|name| !name.is_empty()).try_for_each(|name| check(language, name))
    }
}

/// Fails if a word cannot be the name of an item.
pub(super) fn check(language: SourceLanguage, name: &str) -> Result<(), EmitError> {
    check_word(name)?;
    if is_taken(language, name) {
        let name = name.to_owned();
        return Err(EmitError(EmitErrorKind::Reserved { name, language }));
    }
    Ok(())
}

/// Fails if a word cannot be the name of a Go package.
pub(super) fn check_package(name: &str) -> Result<(), EmitError> {
    check_word(name)?;
    // The other words that are taken are names of packages, or predeclared.
    if is_keyword_of_go(name) {
        let (name, language) = (name.to_owned(), SourceLanguage::Go);
        return Err(EmitError(EmitErrorKind::Reserved { name, language }));
    }
    Ok(())
}

/// Fails if a word has other characters than ASCII letters, digits and `_`, begins with a digit, or is empty.
pub(super) fn check_word(name: &str) -> Result<(), EmitError> {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_word && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => Ok(()),
        false => Err(EmitError(EmitErrorKind::NotAWord { name: name.to_owned() })),
    }
}

/// The names of parameters, one for each variable: its own, or one with a prefix if the language or the function uses it.
/// No language uses a word with this prefix.
pub(super) fn parameters(
    language: SourceLanguage,
    variables: &[Variable],
    used: &[&str],
) -> Vec<String> {
    let is_taken = |name: &str| {
        reserved(language).contains(&name)
            || LOCALS.contains(&name)
            || used.contains(&name)
            || may_be_macro(language, name)
    };
    let mut names: Vec<String> = Vec::new();
    for variable in variables {
        let mut name = variable.name().to_owned();
        let is_other = |name: &str| {
            variables.iter().any(|other| other.name() == name && other.name() != variable.name())
        };
        while is_taken(&name) || names.contains(&name) || is_other(&name) {
            name.insert_str(0, "var_");
        }
        names.push(name);
    }
    names
}

/// Words that are neither names of items nor of parameters: keywords, and names that the emitted functions use.
pub(super) fn reserved(language: SourceLanguage) -> &'static [&'static str] {
    match language {
        SourceLanguage::C => C,
        SourceLanguage::Rust => RUST,
        SourceLanguage::Go => GO,
    }
}

/// Local variables of the emitted functions, and parameters of functions around them, which are not names of parameters.
const LOCALS: &[&str] = &[
    "configuration",
    "err",
    "errno",
    "flags",
    "insns",
    "listener",
    "noNewPrivs",
    "no_new_privs",
    "program",
    "result",
];

/// Parameters of the functions that install a filter, in which the filter is named.
const PARAMETERS: &[&str] = &["flags", "noNewPrivs", "no_new_privs"];

/// Whether a word cannot be the name of an item. In C, the headers of the installer declare many.
fn is_taken(language: SourceLanguage, name: &str) -> bool {
    reserved(language).contains(&name)
        || PARAMETERS.contains(&name)
        || language == SourceLanguage::C
            && (is_of_implementation(name)
                || name.ends_with("_t")
                || errno_number(name).is_some()
                || DECLARED.contains(&name)
                || MACRO_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || MACRO_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// Whether the name of a parameter could be a macro: in C, those of headers have only capitals, or one of a few prefixes, and
/// those of compilers begin with underscores.
fn may_be_macro(language: SourceLanguage, name: &str) -> bool {
    language == SourceLanguage::C
        && (name.starts_with('_')
            || !name.contains(|c: char| c.is_ascii_lowercase())
            || MACRO_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

/// Whether a word is a keyword of Go, or its blank identifier.
fn is_keyword_of_go(name: &str) -> bool {
    name == "_" || GO.iter().take_while(|word| **word != "_").any(|word| *word == name)
}

/// Identifiers that standard C reserves for the implementation, such as `__x86_64__`.
fn is_of_implementation(name: &str) -> bool {
    let rest = name.strip_prefix('_');
    rest.is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()))
}

/// C11 and C23; C++23, whose programs may include the header; what the functions call, and macros of gcc in lower case.
#[rustfmt::skip]
const C: &[&str] = &[
    "asm", "auto", "bool", "break", "case", "char", "const", "constexpr", "continue", "default", "do", "double",
    "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline", "int", "long", "nullptr", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "struct", "switch", "thread_local",
    "true", "typedef", "typeof", "typeof_unqual", "union", "unsigned", "void", "volatile", "while", "alignas",
    "alignof", "and", "and_eq", "bitand", "bitor", "catch", "char16_t", "char32_t", "char8_t", "class", "co_await",
    "co_return", "co_yield", "compl", "concept", "const_cast", "consteval", "constinit", "decltype", "delete",
    "dynamic_cast", "explicit", "export", "friend", "mutable", "namespace", "new", "noexcept", "not", "not_eq",
    "operator", "or", "or_eq", "private", "protected", "public", "reinterpret_cast", "requires", "static_cast", "std",
    "template", "this", "throw", "try", "typeid", "typename", "using", "virtual", "wchar_t", "xor", "xor_eq",
    "errno", "linux", "unix", "main", "memcpy", "prctl", "syscall",
    "uint32_t", "uint64_t",
];

/// All editions of Rust; crates and types of the functions, and unit-like names of the prelude, which patterns match.
#[rustfmt::skip]
const RUST: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match",
    "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "_",
    "bool", "libc", "std", "u16", "u32", "u64", "Err", "None", "Ok", "Some",
];

/// The specification of Go: keywords first, then packages and predeclared identifiers that the functions use.
#[rustfmt::skip]
const GO: &[&str] = &[
    "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go",
    "goto", "if", "import", "interface", "map", "package", "range", "return", "select", "struct", "switch", "type",
    "var",
    "_", "bool", "error", "false", "fmt", "init", "int", "len", "main", "nil", "runtime", "true", "uint16", "uint32",
    "uint64", "uintptr", "unix", "unsafe",
];

const MACRO_PREFIXES: &[&str] =
    &["BPF_", "CLOSE_RANGE_", "PR_", "SECCOMP_", "SEEK_", "SKF_", "SYS_", "SYSCALL_"];
const MACRO_SUFFIXES: &[&str] = &["_FILENO", "_MAX", "_MIN", "_WIDTH"];

/// What `errno.h`, `string.h`, `unistd.h` and `sys/prctl.h` of glibc 2.36 declare with `_GNU_SOURCE` (`gcc -E`).
#[rustfmt::skip]
const DECLARED: &[&str] = &[
    "access", "acct", "alarm", "basename", "bcmp", "bcopy", "brk", "bzero", "chdir", "chown", "chroot", "close",
    "close_range", "closefrom", "confstr", "copy_file_range", "crypt", "daemon", "dup", "dup2", "dup3", "eaccess",
    "endusershell", "environ", "euidaccess", "execl", "execle", "execlp", "execv", "execve", "execveat", "execvp",
    "execvpe", "explicit_bzero", "faccessat", "fchdir", "fchown", "fchownat", "fdatasync", "fexecve", "ffs", "ffsl",
    "ffsll", "fork", "fpathconf", "fsync", "ftruncate", "ftruncate64", "get_current_dir_name", "getcwd",
    "getdomainname", "getdtablesize", "getegid", "getentropy", "geteuid", "getgid", "getgroups", "gethostid",
    "gethostname", "getlogin", "getlogin_r", "getopt", "getpagesize", "getpass", "getpgid", "getpgrp", "getpid",
    "getppid", "getresgid", "getresuid", "getsid", "gettid", "getuid", "getusershell", "getwd", "group_member",
    "index", "isatty", "lchown", "link", "linkat", "lockf", "lockf64", "lseek", "lseek64", "memccpy", "memchr",
    "memcmp", "memfrob", "memmem", "memmove", "mempcpy", "memrchr", "memset", "nice", "optarg", "opterr", "optind",
    "optopt", "pathconf", "pause", "pipe", "pipe2", "pread", "pread64", "profil", "pwrite", "pwrite64", "rawmemchr",
    "read", "readlink", "readlinkat", "revoke", "rindex", "rmdir", "sbrk", "setdomainname", "setegid", "seteuid",
    "setgid", "sethostid", "sethostname", "setlogin", "setpgid", "setpgrp", "setregid", "setresgid", "setresuid",
    "setreuid", "setsid", "setuid", "setusershell", "sigabbrev_np", "sigdescr_np", "sleep", "stpcpy", "stpncpy",
    "strcasecmp", "strcasecmp_l", "strcasestr", "strcat", "strchr", "strchrnul", "strcmp", "strcoll", "strcoll_l",
    "strcpy", "strcspn", "strdup", "strdupa", "strerror", "strerror_l", "strerror_r", "strerrordesc_np",
    "strerrorname_np", "strfry", "strlen", "strncasecmp", "strncasecmp_l", "strncat", "strncmp", "strncpy", "strndup",
    "strndupa", "strnlen", "strpbrk", "strrchr", "strsep", "strsignal", "strspn", "strstr", "strtok", "strtok_r",
    "strverscmp", "strxfrm", "strxfrm_l", "swab", "symlink", "symlinkat", "sync", "syncfs", "sysconf", "tcgetpgrp",
    "tcsetpgrp", "truncate", "truncate64", "ttyname", "ttyname_r", "ttyslot", "ualarm", "unlink", "unlinkat",
    "usleep", "vfork", "vhangup", "write",
    "NULL", "TEMP_FAILURE_RETRY", "F_LOCK", "F_OK", "F_TEST", "F_TLOCK", "F_ULOCK", "L_INCR", "L_SET", "L_XTND",
    "R_OK", "W_OK", "X_OK",
];

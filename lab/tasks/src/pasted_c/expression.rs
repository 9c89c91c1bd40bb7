//! Random constant expressions.

use callgate_bpf::random::Rng;

/// What texts are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What filters usually have.
    Usual,
    /// Anything in constant expressions and the preprocessor.
    Any,
}

/// Literals of all types, near their limits.
const LITERALS: &[&str] = &[
    "0",
    "1",
    "2",
    "7",
    "31",
    "0x7f",
    "0x80",
    "0xff",
    "0x100",
    "0x101",
    "255u",
    "0x7fff",
    "0x8000",
    "65535",
    "0x10000",
    "017",
    "0777",
    "0x7fffffff",
    "0x80000000",
    "2147483648",
    "4294967295",
    "0xffffffff",
    "4294967296",
    "1u",
    "3U",
    "5l",
    "6L",
    "9ul",
    "10UL",
    "11LU",
    "12ll",
    "13LL",
    "14ull",
    "15ULL",
    "0b1011",
    "037777777777",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "0xffffffffffffffff",
    "9223372036854775807",
    "18446744073709551615u",
    "0x100000001ULL",
    "'a'",
    "'\\n'",
    "'\\0'",
    "'\\x7f'",
    "'\\xff'",
    "'\\377'",
    "'ab'",
    "'\\''",
    "0XFFu",
    "100lu",
];

const USUAL_LITERALS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "5",
    "8",
    "0x10",
    "22",
    "38",
    "0xff",
    "0xffff",
    "0x1000",
    "0x7fff0000",
    "0x50000u",
    "64",
];

const TYPES: &[&str] = &[
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "__u8",
    "__u16",
    "__u32",
    "__u64",
    "__s32",
    "__s64",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "size_t",
    "ssize_t",
    "_Bool",
    "long int unsigned",
    "const int",
    "uintptr_t",
];

const CONSTANTS: &[&str] = &[
    "SECCOMP_RET_ALLOW",
    "SECCOMP_RET_ERRNO",
    "SECCOMP_RET_DATA",
    "SECCOMP_RET_KILL_PROCESS",
    "SECCOMP_RET_TRAP",
    "AUDIT_ARCH_X86_64",
    "AUDIT_ARCH_I386",
    "AUDIT_ARCH_AARCH64",
    "__NR_read",
    "__NR_openat",
    "SYS_execve",
    "__NR_clone3",
    "EPERM",
    "ENOSYS",
    "EACCES",
    "BPF_LD",
    "BPF_K",
    "BPF_JMP",
    "CLONE_NEWUSER",
    "AF_UNIX",
    "O_CLOEXEC",
    "PROT_EXEC",
    "EM_X86_64",
    "__AUDIT_ARCH_LE",
    "CLONE_NEWTIME",
    "AT_FDCWD",
    "TIOCSTI",
    "CLONE_INTO_CGROUP",
    "SIGSYS",
];

const OPERATORS: &[&str] =
    &["+", "-", "*", "/", "%", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||"];

/// A random expression. `names` are macros, and functions with one parameter of the text.
pub(super) fn expression(rng: &mut Rng, kind: Kind, names: &[String], depth: u32) -> String {
    let usual = kind == Kind::Usual;
    let one = |rng: &mut Rng, from: &[&'static str]| rng.pick(from).unwrap_or("0");
    if depth == 0 || rng.below(4) == 0 {
        return match rng.below(10) {
            0..=2 if !names.is_empty() => {
                let name = names.get(rng.below(names.len())).cloned().unwrap_or_default();
                match name.strip_suffix("()") {
                    Some(name) => {
                        let argument = expression(rng, kind, &[], depth.saturating_sub(1));
                        format!("{name}({argument})")
                    }
                    None => name,
                }
            }
            3..=5 => one(rng, CONSTANTS).to_owned(),
            6 => {
                let member = [
                    "nr",
                    "arch",
                    "instruction_pointer",
                    "args",
                    "args[0]",
                    "args[3]",
                    "args[1 + 1]",
                ];
                format!("offsetof(struct seccomp_data, {})", one(rng, &member))
            }
            7 if !usual => format!("sizeof({})", one(rng, TYPES)),
            _ if usual => one(rng, USUAL_LITERALS).to_owned(),
            _ => one(rng, LITERALS).to_owned(),
        };
    }
    let inner = |rng: &mut Rng| expression(rng, kind, names, depth - 1);
    if usual {
        return match rng.below(8) {
            0 => format!("~{}", parenthesized(inner(rng))),
            1 => format!("(unsigned char)({})", inner(rng)),
            2 => format!("(__u32)({})", inner(rng)),
            3 => format!("({} << {})", one(rng, &["1", "2", "1u", "0x10"]), rng.below(20)),
            4 => format!("({} & {})", inner(rng), inner(rng)),
            5 => format!("{} + {}", parenthesized(inner(rng)), one(rng, USUAL_LITERALS)),
            _ => format!("({} | {})", inner(rng), inner(rng)),
        };
    }
    match rng.below(12) {
        0 => {
            format!("{}{}", one(rng, &["-", "~", "!", "+", "- ", "~ "]), parenthesized(inner(rng)))
        }
        1..=3 => format!("({}){}", one(rng, TYPES), parenthesized(inner(rng))),
        4 => format!("({} ? {} : {})", inner(rng), inner(rng), inner(rng)),
        5 => {
            // Shifts that are defined.
            let operator = one(rng, &["<<", ">>"]);
            format!("{} {operator} {}", parenthesized(inner(rng)), rng.below(31))
        }
        6..=9 => {
            let operator = one(rng, OPERATORS);
            format!("{} {operator} {}", parenthesized(inner(rng)), parenthesized(inner(rng)))
        }
        10 => format!("({})", inner(rng)),
        // Precedence decides.
        _ => format!(
            "{} {} {} {} {}",
            leaf(rng),
            one(rng, OPERATORS),
            leaf(rng),
            one(rng, OPERATORS),
            leaf(rng)
        ),
    }
}

/// A condition of the preprocessor.
pub(super) fn condition(rng: &mut Rng, kind: Kind, names: &[String], depth: u32) -> String {
    let one = |rng: &mut Rng, from: &[&'static str]| rng.pick(from).unwrap_or("0");
    let plain: Vec<&String> = names.iter().filter(|name| !name.ends_with("()")).collect();
    let name = |rng: &mut Rng| match plain.get(rng.below(plain.len())) {
        Some(name) => (*name).clone(),
        None => "__linux__".to_owned(),
    };
    if depth == 0 {
        return match rng.below(9) {
            0..=2 => name(rng),
            3 => format!("defined({})", name(rng)),
            4 => format!(
                "defined {}",
                one(
                    rng,
                    &[
                        "__linux__",
                        "__x86_64__",
                        "__i386__",
                        "_WIN32",
                        "__LP64__",
                        "__NR_read",
                        "EPERM"
                    ]
                )
            ),
            5 => one(
                rng,
                &[
                    "__x86_64__",
                    "__linux__",
                    "__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__",
                    "__SIZEOF_LONG__ == 8",
                    "SECCOMP_RET_ALLOW",
                ],
            )
            .to_owned(),
            _ if kind == Kind::Usual => rng.below(4).to_string(),
            _ => loop {
                // Decimal numbers beyond `intmax_t` have no type here.
                let literal = one(rng, LITERALS);
                if !literal.starts_with("184") {
                    break literal.to_owned();
                }
            },
        };
    }
    let inner = |rng: &mut Rng| condition(rng, kind, names, depth - 1);
    match rng.below(8) {
        0 => format!("!{}", parenthesized(inner(rng))),
        1 => format!("{} == {}", parenthesized(inner(rng)), parenthesized(inner(rng))),
        2 => format!("{} >= {}", name(rng), rng.below(4)),
        3 => format!("{} && {}", inner(rng), inner(rng)),
        4 => format!("({} || {})", inner(rng), inner(rng)),
        5 => format!("({} ? {} : {})", inner(rng), inner(rng), inner(rng)),
        6 if kind == Kind::Any => {
            format!(
                "{} {} {}",
                parenthesized(inner(rng)),
                one(rng, OPERATORS),
                parenthesized(inner(rng))
            )
        }
        7 if kind == Kind::Any => format!("-{} < {}u", rng.below(3), rng.below(3)),
        _ => format!("{} != {}", name(rng), rng.below(3)),
    }
}

fn leaf(rng: &mut Rng) -> &'static str {
    rng.pick(LITERALS).unwrap_or("0")
}

fn parenthesized(text: String) -> String {
    if text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        text
    } else {
        format!("({text})")
    }
}

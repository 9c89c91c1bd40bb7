//! Words as names and as variables: each is refused, or the compiler of the language accepts the source code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, process};

use callgate::emit::{SourceLanguage, SourceOptions, source, template_source};
use callgate::{Arch, Filter, Program, Verdict, arg, var};
use callgate_bpf::FilterFlags;
use callgate_core::template::Template;
use callgate_testing::{Need, Skip, TestResult};

/// Keywords of the languages, what the emitted code and its headers name, and names that nothing uses.
const WORDS: &str = "
    alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false float
    for goto if inline int long nullptr register restrict return short signed sizeof static static_assert struct switch
    thread_local true typedef typeof typeof_unqual union unsigned void volatile while _Alignas _Bool _Generic
    abstract as async await become box crate dyn final fn gen impl in let loop macro match mod move mut override priv pub
    ref self Self super trait try type unsafe unsized use virtual where yield _ __ _1
    and and_eq bitand bitor catch char16_t char8_t class co_await compl concept const_cast consteval decltype delete
    dynamic_cast explicit export friend mutable namespace noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires static_cast template this throw typeid typename using wchar_t xor xor_eq
    chan defer fallthrough func go import interface map package range select var
    uint8_t uint16_t uint32_t uint64_t size_t pid_t u8 u16 u32 u64 usize str Vec Option Result Some None Ok Err
    uint8 uint16 uint32 uint64 uintptr error string rune any len cap nil new append init main
    errno memcpy prctl syscall linux unix i386 __x86_64__ __LINE__ __linux__ NULL EPERM EINVAL ESRCH
    PR_SET_NO_NEW_PRIVS SYS_seccomp SECCOMP_SET_MODE_FILTER BPF_LD BPF_K BPF_STMT BPF INT_MAX SIZE_MAX UINT32_MAX
    read write open close access link unlink pause sleep pipe index strlen memset environ optarg getpid R_OK
    std libc core alloc fmt runtime sock_filter sock_fprog insns program result thread err filter listener no_new_privs noNewPrivs flags
    worker Worker web_2";

const LANGUAGES: [SourceLanguage; 3] =
    [SourceLanguage::C, SourceLanguage::Rust, SourceLanguage::Go];

/// What is emitted for a word.
#[derive(Clone, Copy)]
enum Use {
    Name,
    NameWithVariables,
    /// A name, or a variable, of a filter that notifies a listener.
    NameWithListener,
    VariableWithListener,
    Variable,
}

/// The words, also in capitals and in lower case.
fn words() -> BTreeSet<String> {
    let each = |word: &str| [word.to_owned(), word.to_uppercase(), word.to_lowercase()];
    WORDS.split_whitespace().flat_map(each).collect()
}

fn program() -> Program {
    Filter::builder(Arch::X86_64)
        .allow(["read"])
        .unwrap()
        .build()
        .unwrap()
        .compile()
        .unwrap()
        .into()
}

/// A program with a variable of 64 bits and one of 32 bits.
fn template(first: &str) -> Template {
    let builder = Filter::builder(Arch::X86_64);
    let builder = builder.allow_if("read", arg("fd").u64().eq(var(first))).unwrap();
    let builder = builder.allow_if("write", arg("fd").eq(var("z_last"))).unwrap();
    builder.build().unwrap().compile_template().unwrap().into_program()
}

/// The same, which notifies a listener.
fn notifying_template(first: &str) -> Template {
    let builder = Filter::builder(Arch::X86_64).default(Verdict::user_notif(0));
    let builder = builder.allow_if("read", arg("fd").u64().eq(var(first))).unwrap();
    builder.build().unwrap().compile_template().unwrap().into_program()
}

/// The source code for a word; `None` if it is refused.
fn emitted(language: SourceLanguage, word: &str, at: usize, what: Use) -> Option<String> {
    let name = match what {
        Use::Variable | Use::VariableWithListener => format!("f{at}"),
        _ => word.to_owned(),
    };
    let options =
        SourceOptions { name: Some(name), installer: true, ..SourceOptions::new(language) };
    let result = match what {
        Use::Name => source(&program(), &options),
        Use::NameWithVariables => template_source(&template("x"), &options),
        Use::NameWithListener => template_source(&notifying_template("x"), &options),
        Use::VariableWithListener => {
            let killable = FilterFlags::WAIT_KILLABLE_RECV | FilterFlags::LOG;
            let options = SourceOptions { flags: killable, ..options };
            Ok(template_source(&notifying_template(word), &options).unwrap())
        }
        Use::Variable => Ok(template_source(&template(word), &options).unwrap()),
    };
    match result {
        Ok(text) => Some(text),
        Err(error) => {
            assert!(error.to_string().contains('`'), "{error}");
            None
        }
    }
}

/// A directory that is removed on drop.
struct Directory(PathBuf);

impl Directory {
    fn new(language: SourceLanguage, what: Use) -> Directory {
        let name = format!("callgate-names-{language}-{}-{}", what as u8, process::id());
        let path = env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `libc`, as far as an installer needs it.
const LIBC: &str = "
#![allow(dead_code, nonstandard_style)]
pub mod libc {
    pub type c_ulong = u64;
    pub type c_int = i32;
    pub type c_long = i64;
    #[derive(Clone, Copy)]
    pub struct sock_filter { pub code: u16, pub jt: u8, pub jf: u8, pub k: u32 }
    pub struct sock_fprog { pub len: u16, pub filter: *mut sock_filter }
    pub const PR_SET_SECCOMP: i32 = 22;
    pub const PR_SET_NO_NEW_PRIVS: i32 = 38;
    pub const SYS_seccomp: i64 = 317;
    pub const SECCOMP_MODE_FILTER: u32 = 2;
    pub const SECCOMP_SET_MODE_FILTER: u32 = 1;
    pub const SECCOMP_FILTER_FLAG_TSYNC: u64 = 1;
    pub const SECCOMP_FILTER_FLAG_LOG: u64 = 2;
    pub const SECCOMP_FILTER_FLAG_NEW_LISTENER: u64 = 8;
    pub const SECCOMP_FILTER_FLAG_TSYNC_ESRCH: u64 = 16;
    pub const SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV: u64 = 32;
    pub const ESRCH: i32 = 3;
    pub const EINVAL: i32 = 22;
    pub const ENOSYS: i32 = 38;
    unsafe extern \"C\" {
        pub fn prctl(option: i32, ...) -> i32;
        pub fn syscall(number: i64, ...) -> i64;
    }
}
";

/// `golang.org/x/sys/unix`, as far as an installer needs it.
const UNIX: &str = "package unix

import \"syscall\"

type SockFilter struct { Code uint16; Jt, Jf uint8; K uint32 }
type SockFprog struct { Len uint16; Filter *SockFilter }

const (
	PR_SET_SECCOMP = 22
	PR_SET_NO_NEW_PRIVS = 38
	SYS_PRCTL = 157
	SYS_SECCOMP = 317
	SECCOMP_MODE_FILTER = 2
	SECCOMP_SET_MODE_FILTER = 1
	SECCOMP_FILTER_FLAG_TSYNC = 1
	SECCOMP_FILTER_FLAG_LOG = 2
	SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
	ESRCH = syscall.ESRCH
	EINVAL = syscall.EINVAL
	ENOSYS = syscall.ENOSYS
)

func Prctl(option int, a, b, c, d uintptr) error { return nil }
func Syscall(trap, a, b, c uintptr) (uintptr, uintptr, syscall.Errno) { return 0, 0, 0 }
func Syscall6(trap, a, b, c, d, e, f uintptr) (uintptr, uintptr, syscall.Errno) { return 0, 0, 0 }
";

/// Writes the sources of all words into one program, and returns the command that checks it.
fn checked(language: SourceLanguage, directory: &Directory, sources: &[String]) -> Command {
    let mut command;
    match language {
        SourceLanguage::C => {
            directory.write("all.c", &sources.concat());
            // Programs in C++ may include the header.
            let c =
                "-std=gnu11 -Wall -Wno-main -Wno-unused -Werror -D_GNU_SOURCE -fsyntax-only all.c";
            let cpp = "-std=gnu++20 -w -fsyntax-only -x c++ all.c";
            let check = format!("cc {c} && if command -v c++ >/dev/null; then c++ {cpp}; fi");
            command = Command::new("sh");
            command.args(["-c", &check]);
        }
        SourceLanguage::Rust => {
            let mut text = LIBC.to_owned();
            for (at, source) in sources.iter().enumerate() {
                let _ = writeln!(text, "pub mod m{at} {{\nuse super::libc;\n{source}}}");
            }
            directory.write("all.rs", &text);
            command = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
            command.args(["--edition=2024", "--crate-type=lib", "--emit=metadata", "all.rs"]);
        }
        SourceLanguage::Go => {
            let module = "module names\n\ngo 1.21\n\nrequire golang.org/x/sys v0.0.0\n\n\
                          replace golang.org/x/sys => ./sys\n";
            directory.write("go.mod", module);
            directory.write("sys/go.mod", "module golang.org/x/sys\n");
            directory.write("sys/unix/unix.go", UNIX);
            for (at, source) in sources.iter().enumerate() {
                directory.write(&format!("file{at}.go"), source);
            }
            directory.write("main.go", "package main\n\nfunc main() {}\n");
            command = Command::new("go");
            command.args(["vet", "-unsafeptr=false", "."]);
            command.envs([("GOFLAGS", "-mod=mod"), ("GOPROXY", "off"), ("GOWORK", "off")]);
        }
    }
    command.current_dir(&directory.0);
    command
}

fn check(language: SourceLanguage, what: Use) -> TestResult {
    let words = words();
    let each = words.iter().enumerate();
    let mut refused = Vec::new();
    let sources: Vec<String> = each
        .filter_map(|(at, word)| {
            let text = emitted(language, word, at, what);
            refused.extend(text.is_none().then_some(word.as_str()));
            text
        })
        .collect();
    // Few words are refused, and those that nothing uses are not.
    assert!(sources.len() * 2 > words.len(), "{language}: {refused:?}");
    assert!(!refused.contains(&"worker") && !refused.contains(&"web_2"), "{refused:?}");
    let directory = Directory::new(language, what);
    let output = match checked(language, &directory, &sources).output() {
        Err(error) => {
            return Err(Skip::new(Need::Tool, format!("the compiler of {language}: {error}")));
        }
        Ok(output) => output,
    };
    let shown = String::from_utf8_lossy(&output.stderr);
    let shown: String = shown.chars().take(3000).collect();
    assert!(output.status.success(), "{language}: {shown}");
    Ok(())
}

fn words_as_names_are_refused_or_compile() -> TestResult {
    LANGUAGES.into_iter().try_for_each(|language| check(language, Use::Name))
}

fn words_as_names_of_filters_with_variables_are_refused_or_compile() -> TestResult {
    LANGUAGES.into_iter().try_for_each(|language| check(language, Use::NameWithVariables))
}

fn words_as_variables_compile() -> TestResult {
    LANGUAGES.into_iter().try_for_each(|language| check(language, Use::Variable))
}

fn words_of_filters_with_a_listener_are_refused_or_compile() -> TestResult {
    LANGUAGES.into_iter().try_for_each(|language| check(language, Use::NameWithListener))?;
    LANGUAGES.into_iter().try_for_each(|language| check(language, Use::VariableWithListener))
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        words_as_names_are_refused_or_compile,
        words_as_names_of_filters_with_variables_are_refused_or_compile,
        words_as_variables_compile,
        words_of_filters_with_a_listener_are_refused_or_compile,
    ]
}

//! What the page offers to choose, and what it says about names in a text.

use callgate::Verdict;
use callgate::purposes::{Purpose, danger};
use callgate_bpf::SyscallTable;
use callgate_bpf::constants::{ConstantUse, uses};
use callgate_bpf::syscalls::facts;
use callgate_core::{Arch, errno_name};
use callgate_formats::CapSet;
use callgate_formats::languages::LanguageId;
use callgate_formats::systemd::SystemdVersion;
use callgate_requests::json::Json;
use callgate_requests::source::SourceFormat;

use super::request::Target;
use crate::describe::effect;

/// The fields of an answer.
type Fields = Vec<(&'static str, Json)>;

/// `version`; `arches`, `formats` and `targets`, lists of names; `systemd_version`, the newest that is known; `code`, a list of
/// objects with `name` and `title`; `syscalls`, all syscalls of x86-64 with `name`, `nr`, `args`, and what they are for.
pub(super) fn about() -> Fields {
    let is_text = |name: &&str| !matches!(*name, "bpf" | "socket");
    let formats = SourceFormat::all().map(SourceFormat::name).filter(is_text);
    let code = Target::CODE.iter().map(|(name, title, _)| {
        Json::Object(vec![("name", (*name).into()), ("title", (*title).into())])
    });
    let mut syscalls: Vec<(u32, &str)> = Arch::X86_64.syscalls().collect();
    syscalls.sort_unstable_by_key(|(_, name)| *name);
    vec![
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("arches", Json::array(Arch::ALL.iter().map(|arch| arch.name()))),
        ("formats", Json::array(formats)),
        ("systemd_version", SystemdVersion::LATEST.to_string().into()),
        ("targets", Json::array(LanguageId::written().map(LanguageId::name))),
        ("code", Json::array(code)),
        ("syscalls", Json::array(syscalls.into_iter().map(syscall))),
    ]
}

/// What the editor shows about a syscall of x86-64.
fn syscall((nr, name): (u32, &str)) -> Json {
    let args = facts(name).filter(|facts| facts.args_known).map(|facts| facts.args);
    let args = args.into_iter().flat_map(|args| args.iter()).map(|arg| arg.name);
    let purpose = Purpose::of(name).map(|purpose| {
        format!("{}: syscalls with which a process can {}", purpose.title(), purpose.description())
    });
    Json::Object(vec![
        ("name", name.into()),
        ("nr", nr.into()),
        ("args", Json::array(args)),
        ("purpose", purpose.map_or(Json::Null, Json::from)),
        ("danger", danger(name).map(|danger| danger.reason).into()),
    ])
}

/// The field `constants`: objects with `name`, `value` (as text), `use` (a sentence) and `page` (of the manual): constants of x86-64
/// that arguments take, actions of filters, errors and capabilities.
pub(super) fn constants() -> Fields {
    let mut all = arguments();
    all.extend(actions());
    all.extend(errors());
    all.extend(CapSet::all().names().enumerate().map(|(number, name)| Named {
        name: name.to_owned(),
        value: number.to_string(),
        purpose: "A capability: a privilege that a process of root can give up.".to_owned(),
        page: "man 7 capabilities".to_owned(),
    }));
    vec![("constants", Json::array(all.into_iter().map(Named::json)))]
}

struct Named {
    name: String,
    value: String,
    purpose: String,
    page: String,
}

impl Named {
    fn json(self) -> Json {
        Json::Object(vec![
            ("name", self.name.into()),
            ("value", self.value.into()),
            ("use", self.purpose.into()),
            ("page", self.page.into()),
        ])
    }
}

/// The constants of arguments, each once.
fn arguments() -> Vec<Named> {
    /// The maximum number of syscalls that are named.
    const MAX: usize = 4;
    let mut found: Vec<(ConstantUse, Vec<String>, &str)> = Vec::new();
    for own in uses(Arch::X86_64) {
        let mut syscalls: Vec<&str> = own.syscalls.split(' ').collect();
        let first = syscalls.first().copied().unwrap_or_default();
        if syscalls.len() > MAX {
            syscalls.truncate(MAX);
            syscalls.push("and others");
        }
        let text = format!("{} of {}", own.argument, syscalls.join(", "));
        match found.iter_mut().find(|(known, ..)| known.name == own.name) {
            Some((_, texts, _)) => texts.push(text),
            None => found.push((own, vec![text], first)),
        }
    }
    let named = found.into_iter().map(|(own, texts, first)| {
        let value = match own.value {
            small @ 0..10 => small.to_string(),
            // Constants such as AT_FDCWD are negative.
            large if large >> 63 == 1 => (large as i64).to_string(),
            large => format!("{large:#x}, {large}"),
        };
        let purpose = format!("For the argument {}.", texts.join("; "));
        Named { name: own.name.to_owned(), value, purpose, page: format!("man 2 {first}") }
    });
    named.collect()
}

/// The actions of filters, by the names of the kernel and of libseccomp, which container profiles have.
fn actions() -> Vec<Named> {
    let known = [
        ("KILL_PROCESS", "KILL_PROCESS", Verdict::KILL_PROCESS),
        ("KILL_THREAD", "KILL_THREAD", Verdict::KILL_THREAD),
        ("KILL", "KILL", Verdict::KILL_THREAD),
        ("TRAP", "TRAP", Verdict::trap(0)),
        ("ERRNO", "ERRNO", Verdict::errno(0)),
        ("TRACE", "TRACE", Verdict::trace(0)),
        ("USER_NOTIF", "NOTIFY", Verdict::user_notif(0)),
        ("LOG", "LOG", Verdict::LOG),
        ("ALLOW", "ALLOW", Verdict::ALLOW),
    ];
    let named = known.into_iter().flat_map(|(kernel, library, verdict)| {
        let what = match kernel {
            // The profile, or its default, says which error.
            "ERRNO" => {
                "fails with an error that the rule gives, in container profiles EPERM".to_owned()
            }
            _ => effect(verdict),
        };
        let purpose = format!("An action: the syscall {what}.");
        [
            (format!("SECCOMP_RET_{kernel}"), "man 2 seccomp"),
            (format!("SCMP_ACT_{library}"), "man 3 seccomp_rule_add"),
        ]
        .map(|(name, page)| Named {
            name,
            value: format!("{:#010x}", verdict.0),
            purpose: purpose.clone(),
            page: page.to_owned(),
        })
    });
    named.collect()
}

/// What programs print for the errors that filters usually return, as `strerror(3)` of glibc has it.
const PRINTED: [(&str, &str); 7] = [
    ("EPERM", "Operation not permitted"),
    ("ENOENT", "No such file or directory"),
    ("EACCES", "Permission denied"),
    ("EINVAL", "Invalid argument"),
    ("ENOSYS", "Function not implemented"),
    ("EOPNOTSUPP", "Operation not supported"),
    ("EAFNOSUPPORT", "Address family not supported by protocol"),
];

fn errors() -> impl Iterator<Item = Named> {
    let known = (1..=4095).filter_map(|number| Some((number, errno_name(number)?)));
    known.map(|(number, name): (u16, &str)| {
        let printed = PRINTED.iter().find(|(own, _)| *own == name);
        let mut purpose = "An error with which a denied syscall can fail.".to_owned();
        if let Some((_, text)) = printed {
            purpose += &format!(" Programs print \"{text}\".");
        }
        let (name, page) = (name.to_owned(), "man 3 errno".to_owned());
        Named { name, value: number.to_string(), purpose, page }
    })
}

//! Reads a list: from the text to a [`Profile`].

use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::text::Definition;
use callgate_core::policy::{Policy, Rule, Section};
use callgate_core::{Arch, SyscallSet, Verdict};
use rustc_hash::FxHashSet as HashSet;

use super::cursor::Cursor;
use super::lexer::{Kind, Token, tokens};
use super::rules::list;
use super::surroundings::{Action, action, check_uses};
use crate::diagnostics::positions::Positions;
use crate::included::check_text_size;
use crate::profile::Profile;
use crate::statements::{Site, Statement, Statements, other_abis};

/// What gVisor returns if no rule matches (`saneDefaultAction`), and for other architectures.
const DEFAULT: Verdict = Verdict::KILL_PROCESS;

/// The architectures of gVisor.
const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];

/// The words with which a list begins, and what follows each.
const BEGINNINGS: [(&str, &str); 3] =
    [("MakeSyscallRules", "("), ("NewSyscallRules", "("), ("SyscallRules", "{")];

/// How a file is read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture.
    pub arch: Arch,
    /// The variable or the function that has the list; `None` if the file has only one.
    pub name: Option<String>,
    /// How a user chooses a list, for the help if the file has several.
    pub choosing: fn(&str) -> String,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
    /// The values of constants, and of names that the program computes.
    pub definitions: Vec<Definition>,
}

impl ReadOptions {
    /// Reads the only list of a file.
    pub fn new(arch: Arch) -> ReadOptions {
        let choosing =
            |name: &str| format!("choose one with the option `name`, such as \"{name}\"");
        ReadOptions { arch, name: None, choosing, statements: false, definitions: Vec::new() }
    }
}

/// Reads a list of rules in Go.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::gvisor::{ReadOptions, read};
///
/// let text = "var allowed = seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{\n\
///             unix.SYS_READ: seccomp.PerArg{seccomp.NonNegativeFD{}},\n})";
/// let profile = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let read = |fd| SeccompData { arch: Arch::X86_64.token(), args: [fd, 0, 0, 0, 0, 0], ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&read(3)), Verdict::ALLOW);
/// assert_eq!(profile.policy.evaluate(&read(0xffff_ffff)), Verdict::KILL_PROCESS);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// The first message about the text, if it is not read.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    check_text_size(text)?;
    if !ARCHES.contains(&options.arch) {
        let message = format!("gVisor does not run on {}", options.arch);
        return Err(Diagnostic::error(None, message)
            .help("read the file for x86_64 or aarch64 (--arch)")
            .into());
    }
    let positions = Positions::new(text);
    let all = tokens(text, &positions)?;
    let lists = lists(&all);
    let chosen = choose(&lists, options)?;
    check_uses(&all, chosen.name, &positions)?;
    let rest = all.get(chosen.index..).unwrap_or_default();
    let mut cursor = Cursor::new(rest, &positions, text.len(), &options.definitions);
    let entries = list(&mut cursor, options.arch)?;
    let end = all.len() - cursor.rest().len();
    let action = action(&all, chosen.index..end, chosen.name, &positions)?;
    let rule = |entry: &super::rules::Entry| Rule {
        syscalls: SyscallSet::one(entry.nr),
        when: entry.when.clone(),
        verdict: Verdict::ALLOW,
    };
    let rules = entries.iter().map(rule).collect();
    let sections = vec![Section::new(options.arch, rules, DEFAULT)];
    let statements = options.statements.then(|| Statements {
        rules: entries
            .iter()
            .map(|entry| Statement {
                site: Site { file: None, position: entry.position },
                name: entry.name.clone(),
                arch: options.arch,
                nr: entry.nr,
                when: entry.when.clone(),
                verdict: Verdict::ALLOW,
            })
            .collect(),
        builtin: other_abis(&sections, DEFAULT),
        ..Statements::default()
    });
    let policy = Policy::new(sections, DEFAULT)
        .map_err(|error| Diagnostic::error(None, error.to_string()))?;
    let mut profile = Profile { statements, ..Profile::of(policy) };
    if action == Action::Unknown {
        let at = all.get(chosen.index).map(|first| positions.of(first.at));
        let message = "read as a list of what is allowed; a program may use it with another action";
        profile.warnings.push(Diagnostic::warning(at, message).help(
            "look where it is used, or catch the filter of the program: `callgate dump -- CMD`",
        ));
    }
    profile.warnings.extend(changes(&all, chosen, &positions));
    Ok(profile)
}

/// A list in a file.
#[derive(Clone, Copy)]
struct List<'t> {
    /// The index of its first token.
    index: usize,
    /// The variable or the function that has it.
    name: &'t str,
}

/// The lists of a file.
fn lists<'t>(all: &[Token<'t>]) -> Vec<List<'t>> {
    let mut lists: Vec<List<'t>> = Vec::new();
    let mut function = "";
    for (index, token) in all.iter().enumerate() {
        let after = |count: usize| all.get(index + count);
        if token.is("func") && after(1).is_some_and(|next| next.kind == Kind::Word) {
            function = after(1).map_or("", |next| next.text);
            continue;
        }
        let begins = BEGINNINGS.iter().any(|(word, next)| {
            token.is(word) && after(1).is_some_and(|following| following.is(next))
        });
        if !begins {
            continue;
        }
        let qualified = index >= 2 && all.get(index - 1).is_some_and(|dot| dot.is("."));
        let start = if qualified { index - 2 } else { index };
        // A result type `seccomp.SyscallRules {` is the beginning of a function, not of a list.
        if token.is("SyscallRules")
            && start > 0
            && all.get(start - 1).is_some_and(|before| before.is(")"))
        {
            continue;
        }
        let variable = match all.get(..start).unwrap_or_default() {
            [.., name, sign] if sign.is("=") || sign.is(":=") => Some(name.text),
            _ => None,
        };
        lists.push(List { index: start, name: variable.unwrap_or(function) });
    }
    lists
}

fn choose<'t>(lists: &[List<'t>], options: &ReadOptions) -> Result<List<'t>, Diagnostic> {
    /// The most names in a message.
    const MOST: usize = 10;
    let mut seen = HashSet::default();
    let names: Vec<&str> = lists
        .iter()
        .map(|list| list.name)
        .filter(|name| !name.is_empty() && seen.insert(*name))
        .collect();
    let known = || match names.split_at_checked(MOST) {
        _ if names.is_empty() => "none with a name".to_owned(),
        Some((first, rest)) if !rest.is_empty() => {
            format!("{} and {} more", first.join(", "), rest.len())
        }
        _ => names.join(", "),
    };
    match (&options.name, lists) {
        (_, []) => Err(Diagnostic::error(None, "the file has no gVisor rule list")
            .help("a list begins with seccomp.MakeSyscallRules(map[uintptr]seccomp.SyscallRule{")),
        (None, [only]) => Ok(*only),
        (None, [_, _, ..]) => {
            let message = format!("the file has {} rule lists: {}", lists.len(), known());
            let error = Diagnostic::error(None, message);
            Err(match names.first() {
                Some(first) => error.help((options.choosing)(first)),
                None => error.help("give a file with one of them, or `callgate dump -- CMD`"),
            })
        }
        (Some(name), lists) => {
            let mut own = lists.iter().filter(|list| list.name == name);
            match (own.next(), own.next()) {
                (Some(only), None) => Ok(*only),
                (Some(_), Some(_)) => {
                    let message = format!("{name} has several rule lists");
                    Err(Diagnostic::error(None, message)
                        .help("give a file with one of them, or `callgate dump -- CMD`"))
                }
                (None, _) => {
                    let message = format!("no rule list is in {name}; there are {}", known());
                    Err(Diagnostic::error(None, message)
                        .help("give the name of a variable or a function"))
                }
            }
        }
    }
}

/// Warnings about statements that change the list later, and that it is only one of those that a program installs.
fn changes(all: &[Token<'_>], list: List<'_>, positions: &Positions<'_>) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    let own =
        all.windows(2).find(|pair| matches!(pair, [a, b] if a.is("DefaultAction") && b.is(":")));
    if let Some([name, ..]) = own {
        let message = "the default action of the program is not read: everything else is taken to get KILL_PROCESS";
        warnings.push(
            Diagnostic::warning(Some(positions.of(name.at)), message)
                .help("`callgate dump -- CMD` catches the filter that the program installs"),
        );
    }
    for window in all.windows(4) {
        let [name, dot, method, open] = window else { continue };
        let is_change = ["Add", "Set", "Merge", "Remove"].iter().any(|one| method.is(one));
        if name.is(list.name) && dot.is(".") && is_change && open.is("(") {
            let message =
                format!("`{}.{}` changes the list, and is not read", name.text, method.text);
            warnings.push(Diagnostic::warning(Some(positions.of(name.at)), message).help(
                "the filter of the program has other rules as well: `callgate dump -- CMD` catches it",
            ));
        }
    }
    warnings
}

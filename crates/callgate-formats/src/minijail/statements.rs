//! The statements of a policy with its included files.

use std::collections::BTreeMap;

use super::c_parser::check;
use super::lexer::{Kind, Lexer, Line};
use super::parse::{Model, Parser, Stop, Syntax};
use super::semantics::Semantics;
use crate::diagnostics::quote::shorten;
use crate::included::{Includes, Inclusions, Opened, Place, Reports, Sources};
use crate::profile::Profile;
use callgate_core::Arch;

/// What a policy is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the filter.
    pub arch: Arch,
    /// Tells the policy from its included files, as [`Included::identity`](super::Included::identity); `None` if it is not
    /// known.
    pub identity: Option<String>,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
    /// Which of minijail's compilers decides what the policy means. Without it, that in Python, with warnings where the other
    /// one gives another meaning.
    pub semantics: Option<Semantics>,
}

impl ReadOptions {
    /// Reads for an architecture.
    pub fn new(arch: Arch) -> ReadOptions {
        ReadOptions { arch, identity: None, statements: false, semantics: None }
    }
}

/// A policy, and how often its syscalls occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MinijailPolicy {
    /// The policy.
    pub profile: Profile,
    /// The counts of the files that `@frequency` names, in the order of the names; equal names are added.
    pub frequencies: Vec<Frequency>,
}

/// How often a syscall occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequency {
    /// The name of the syscall.
    pub name: &'static str,
    /// Its count.
    pub count: u64,
}

/// How deep inclusions may nest, as in minijail.
const MAX_DEPTH: usize = 8;

/// Reads statements, and includes files on the way.
pub(super) struct Reading<'a, 'i> {
    pub(super) sources: Sources,
    pub(super) reports: Reports,
    pub(super) model: Model,
    /// Counts by the name of the syscall.
    pub(super) frequencies: BTreeMap<&'static str, u64>,
    arch: Arch,
    semantics: Option<Semantics>,
    includes: &'a mut Includes<'i>,
    inclusions: Inclusions,
    said_opposite: bool,
    /// The texts that are being read, the innermost last.
    open: Vec<OpenFile>,
}

struct OpenFile {
    lexer: Lexer,
    has_denylist: bool,
}

impl<'a, 'i> Reading<'a, 'i> {
    pub(super) fn new(
        text: &str,
        options: &ReadOptions,
        includes: &'a mut Includes<'i>,
    ) -> Reading<'a, 'i> {
        Reading {
            sources: Sources::new(text, options.identity.as_deref()),
            reports: Reports::default(),
            model: Model::default(),
            frequencies: BTreeMap::new(),
            arch: options.arch,
            semantics: options.semantics,
            includes,
            inclusions: Inclusions::new(text.len(), MAX_DEPTH),
            said_opposite: false,
            open: Vec::new(),
        }
    }

    /// Reads all statements.
    pub(super) fn read(mut self) -> Self {
        self.model.is_denylist = self.semantics != Some(Semantics::C) && self.find_denylist();
        self.enter(0);
        while let Some(file) = self.open.last_mut() {
            match file.lexer.next(&mut self.reports) {
                Some(line) => {
                    // The error was reported; the next statement may have others.
                    let _ = self.line(&line);
                }
                None => self.leave(),
            }
        }
        self
    }

    /// Whether the policy itself has the statement `@denylist`, which applies also to statements before it.
    fn find_denylist(&self) -> bool {
        let Some(source) = self.sources.get(0) else { return false };
        let mut lexer = Lexer::new(source.text.clone(), 0, self.semantics);
        let mut unused = Reports::default();
        std::iter::from_fn(|| lexer.next(&mut unused)).any(|line| is_denylist(&line))
    }

    fn enter(&mut self, source: u16) {
        if let Some(text) = self.sources.get(source).map(|source| source.text.clone()) {
            let lexer = Lexer::new(text, source, self.semantics);
            self.open.push(OpenFile { lexer, has_denylist: false });
        }
    }

    fn leave(&mut self) {
        let Some(file) = self.open.pop() else { return };
        if self.model.is_denylist && !file.has_denylist {
            let at = Place { source: file.lexer.source(), offset: 0 };
            let message = "this file has no @denylist, but the policy that includes it has";
            self.reports.error(at, message).help = "add @denylist to it".to_owned();
        }
    }

    fn line(&mut self, line: &Line) -> Syntax<()> {
        let Some(first) = line.tokens.first().copied() else { return Ok(()) };
        if self.semantics == Some(Semantics::C) {
            if first.kind == Kind::Frequency {
                let message = "minijail's parser in C ignores @frequency, and so are these counts";
                self.reports.warn(first.span.at, message).help = "remove it".to_owned();
                return Ok(());
            }
            check(line, self.open.len(), &self.sources, &mut self.reports)?;
        }
        let is_denylist = self.model.is_denylist;
        if first.kind == Kind::Denylist {
            if let Some(file) = self.open.last_mut() {
                file.has_denylist = true;
            }
            if !is_denylist {
                let message = "this file is a denylist, but the policy that includes it is not";
                self.reports.error(first.span.at, message).help =
                    "add @denylist to the policy, or remove it here".to_owned();
            }
            return Ok(());
        }
        let mut parser = self.parser(line, is_denylist);
        match first.kind {
            Kind::Include => {
                parser.take();
                let path = parser.path()?;
                parser.end()?;
                if let Some(source) = self.file(path)? {
                    self.enter(source);
                }
            }
            Kind::Frequency => {
                parser.take();
                let path = parser.path()?;
                parser.end()?;
                if let Some(source) = self.file(path)? {
                    self.frequencies(source);
                }
            }
            Kind::Default => {
                parser.take();
                let action = parser.default_action()?;
                let at = first.span.at;
                if let Some((_, before)) = self.model.default.replace((action, at)) {
                    let message = "this @default has no effect: a later one replaces it";
                    self.reports.warn(before, message).help = "remove it".to_owned();
                }
            }
            _ => {
                let statement = parser.statement()?;
                self.model.statements.extend(statement);
            }
        }
        Ok(())
    }

    /// Reads a file of counts; those of equal names are added.
    fn frequencies(&mut self, source: u16) {
        let Some(text) = self.sources.get(source).map(|source| source.text.clone()) else { return };
        let mut lexer = Lexer::new(text, source, self.semantics);
        while let Some(line) = lexer.next(&mut self.reports) {
            // After an error, the next line may have another one.
            if let Ok(Some((name, count))) = frequency(self.parser(&line, false)) {
                let sum = self.frequencies.entry(name).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }

    fn parser<'p>(&'p mut self, line: &'p Line, is_denylist: bool) -> Parser<'p> {
        let Reading { sources, reports, said_opposite, arch, semantics, .. } = self;
        let (arch, semantics) = (*arch, *semantics);
        Parser { sources, reports, said_opposite, semantics, arch, is_denylist, line, next: 0 }
    }

    /// Opens the file of a directive. `None` after an error.
    fn file(&mut self, path: super::lexer::Token) -> Syntax<Option<u16>> {
        let name = self.sources.text(path.span).to_owned();
        let open: Vec<u16> = self.open.iter().map(|file| file.lexer.source()).collect();
        let Reading { sources, reports, inclusions, includes, .. } = self;
        match inclusions.open(&name, path.span.at, &open, includes, sources, reports) {
            Opened::Source(source) => Ok(Some(source)),
            Opened::Nothing => Ok(None),
            Opened::Stop => {
                self.open.clear();
                Err(Stop)
            }
        }
    }
}

fn is_denylist(line: &Line) -> bool {
    line.tokens.first().is_some_and(|token| token.kind == Kind::Denylist)
}

/// A line. `None` if the syscall is for other architectures.
fn frequency(mut parser: Parser<'_>) -> Syntax<Option<(&'static str, u64)>> {
    let syscall = parser.syscall()?;
    if !parser.takes(Kind::Sign(":")) {
        return Err(parser.expected("`:`", "a line is `syscall: count`"));
    }
    let Some(token) = parser.peek().filter(|token| token.kind == Kind::Number) else {
        return Err(parser.expected("a count", ""));
    };
    parser.take();
    let text = parser.text(token);
    let Some(count) = count(text) else {
        let message = format!("`{}` is not a count", shorten(text));
        let help = "write a number from 0 to 18446744073709551615 without zeros before it";
        return Err(parser.fail_at(Some(token), message, help));
    };
    if let Some(more) = parser.peek() {
        let message = format!("`{}` after the count has no effect", shorten(parser.text(more)));
        parser.warn(more, message, "remove it");
    }
    Ok(syscall.map(|(_, name)| (name, count)))
}

/// A number as in Python: zeros before it are an error.
fn count(text: &str) -> Option<u64> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(digits, 16).ok();
    }
    let has_zeros =
        text.len() > 1 && text.starts_with('0') && text.bytes().any(|byte| byte != b'0');
    if has_zeros { None } else { text.parse().ok() }
}

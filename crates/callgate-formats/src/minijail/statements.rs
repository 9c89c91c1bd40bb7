//! The statements of a policy with its included files.

use super::frequency::{Frequencies, frequencies};
use super::lexer::{Kind, Lexer, Line};
use super::model::Model;
use super::options::ReadOptions;
use super::parse::{Parser, Said, Stop, Syntax};
use crate::included::{Includes, Inclusions, Opened, Place, Reports, Sources};
use callgate_core::Arch;

/// How deep inclusions may nest, as in minijail.
const MAX_DEPTH: usize = 8;

/// Reads statements, and includes files on the way.
pub(super) struct Reading<'a, 'i> {
    pub(super) sources: Sources,
    pub(super) reports: Reports,
    pub(super) model: Model,
    pub(super) frequencies: Frequencies,
    arch: Arch,
    includes: &'a mut Includes<'i>,
    inclusions: Inclusions,
    said: Said,
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
            frequencies: Frequencies::default(),
            arch: options.arch,
            includes,
            inclusions: Inclusions::new(text.len(), MAX_DEPTH),
            said: Said::default(),
            open: Vec::new(),
        }
    }

    /// Reads all statements.
    pub(super) fn read(mut self) -> Self {
        self.model.is_denylist = self.find_denylist();
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
        let mut lexer = Lexer::new(source.text.clone(), 0);
        let mut unused = Reports::default();
        std::iter::from_fn(|| lexer.next(&mut unused)).any(|line| is_denylist(&line))
    }

    fn enter(&mut self, source: u16) {
        if let Some(text) = self.sources.get(source).map(|source| source.text.clone()) {
            self.open.push(OpenFile { lexer: Lexer::new(text, source), has_denylist: false });
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
        let mut parser = Parser::new(
            line,
            self.arch,
            is_denylist,
            &self.sources,
            &mut self.reports,
            &mut self.said,
        );
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
                    let Reading { sources, reports, said, frequencies: counts, .. } = self;
                    frequencies(source, self.arch, sources, reports, said, counts);
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
            _ => self.model.statements.extend(parser.statement()?),
        }
        Ok(())
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

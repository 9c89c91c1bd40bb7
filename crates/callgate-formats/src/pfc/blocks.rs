//! From lines to rules: the tests on the way to each action.
//!
//! The first action that is reached decides, and the lines are in the order in which they are reached. So an action with the
//! tests of the blocks around it is a rule, and the first rule that matches decides.

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::{Diagnostic, Topic};
use callgate_core::policy::{Cmp, Condition, Rule};
use callgate_core::{Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

use super::lines::{Comparison, Half, Kind, Left, Line};
use super::words::{WordTest, condition};
use crate::diagnostics::positions::Positions;
use crate::diagnostics::quote::shorten;

/// How deep blocks may nest. libseccomp's nest about 40 deep: three levels for each argument with an order, and a search tree.
const MAX_DEPTH: usize = 64;

/// The maximum number of comparisons in all rules.
const MAX_COMPARISONS: usize = 150_000;

/// The numbers that no syscall has, and that libseccomp's programs do not compare.
const PSEUDO: std::ops::Range<u32> = 1 << 31..u32::MAX;

/// The filter of an architecture.
pub(super) struct ArchFilter {
    /// The byte offset of its `if`.
    pub(super) at: usize,
    pub(super) arch: Arch,
    /// Whether a comment names it. Without one, x32 is told from x86_64 by what follows.
    is_named: bool,
    pub(super) rules: Vec<PlacedRule>,
    /// The byte offset of its last action, and this; `None` until that is read.
    pub(super) default: Option<(usize, Verdict)>,
}

/// A rule with the place where its syscalls are named.
pub(super) struct PlacedRule {
    pub(super) at: usize,
    pub(super) rule: Rule,
}

/// An `if` whose block is open.
struct Block {
    at: usize,
    indent: usize,
    test: Comparison,
    /// Whether the lines follow its `else`.
    is_else: bool,
    /// The indentation of its lines, when there is one.
    inside: Option<usize>,
}

/// The lines that were read so far.
pub(super) struct Blocks<'t> {
    positions: &'t Positions<'t>,
    open: Vec<Block>,
    /// The indentation of the first line.
    outermost: Option<usize>,
    /// The name of the next architecture, or of the next syscall, in the comment before it.
    arch_name: Option<&'t str>,
    syscall_name: Option<&'t str>,
    comparisons: usize,
    pub(super) filters: Vec<ArchFilter>,
    pub(super) bad_arch: Option<Verdict>,
    pub(super) warnings: Vec<Diagnostic>,
}

type Result<T> = std::result::Result<T, Diagnostic>;

impl<'t> Blocks<'t> {
    pub(super) fn new(positions: &'t Positions<'t>) -> Blocks<'t> {
        Blocks {
            positions,
            open: Vec::new(),
            outermost: None,
            arch_name: None,
            syscall_name: None,
            comparisons: 0,
            filters: Vec::new(),
            bad_arch: None,
            warnings: Vec::new(),
        }
    }

    fn error(&self, at: usize, message: impl Into<String>, help: &str) -> Diagnostic {
        Diagnostic::error(Some(self.positions.of(at)), message).help(help.to_owned())
    }

    /// Reads the next line.
    pub(super) fn line(&mut self, line: Line<'t>) -> Result<()> {
        match line.kind {
            Kind::Comment => {}
            Kind::ArchComment(name) => self.arch_name = Some(name),
            Kind::SyscallComment(name) => self.syscall_name = Some(name),
            Kind::Else => self.begin_else(line)?,
            Kind::If(test) => {
                self.close(line)?;
                self.begin(line, test)?;
            }
            Kind::Action(verdict) => {
                self.close(line)?;
                self.action(line.at, verdict)?;
            }
        }
        Ok(())
    }

    /// Ends the blocks that a statement with this indentation is not in.
    fn close(&mut self, line: Line<'_>) -> Result<()> {
        while self.open.last().is_some_and(|block| block.indent >= line.indent) {
            self.open.pop();
        }
        let inside = match self.open.last_mut() {
            Some(block) => &mut block.inside,
            None => &mut self.outermost,
        };
        if *inside.get_or_insert(line.indent) != line.indent {
            let help = "the indentation is the structure of the text: give it as seccomp_export_pfc writes it";
            return Err(self.error(
                line.at,
                "the line is indented otherwise than those before it",
                help,
            ));
        }
        let is_over = match self.open.first() {
            None => self.bad_arch.is_some(),
            Some(_) => self.filters.last().is_some_and(|filter| filter.default.is_some()),
        };
        if is_over {
            let help = "remove what follows, or give the text as seccomp_export_pfc writes it";
            return Err(self.error(line.at, "an action before this line decides always", help));
        }
        Ok(())
    }

    fn begin_else(&mut self, line: Line<'_>) -> Result<()> {
        while self.open.last().is_some_and(|block| block.indent > line.indent) {
            self.open.pop();
        }
        let block = self.open.last_mut().filter(|block| {
            block.indent == line.indent && !block.is_else && block.test.left != Left::Arch
        });
        match block {
            Some(block) => {
                (block.is_else, block.inside) = (true, None);
                Ok(())
            }
            None => Err(self.error(
                line.at,
                "`else` without an `if` of the same indentation before it",
                "give the text as seccomp_export_pfc writes it",
            )),
        }
    }

    fn begin(&mut self, line: Line<'t>, test: Comparison) -> Result<()> {
        let at = line.at;
        match (test.left, self.open.is_empty()) {
            (Left::Arch, true) => self.begin_arch(at, test)?,
            (Left::Arch, false) => {
                return Err(self.error(
                    at,
                    "`$arch` is compared inside of another block",
                    "give the text with its indentation, which is its structure",
                ));
            }
            (_, true) => {
                return Err(self.error(
                    at,
                    "this comparison is outside of the block of an architecture",
                    "give the whole text with its indentation, from `if ($arch == …)` on",
                ));
            }
            (Left::Syscall, false) => self.check_name(at, test),
            (Left::Word(word), false) => {
                let is_only = word.half == Half::Only;
                let filter = self.filters.last_mut();
                if let Some(filter) =
                    filter.filter(|one| is_only && !one.is_named && one.arch == Arch::X86_64)
                {
                    filter.arch = Arch::X32;
                }
                let arch = self.filters.last().map(|filter| filter.arch);
                let is_wide = arch.is_some_and(Arch::is_64bit);
                if is_wide == is_only {
                    let name = arch.map_or("", Arch::name);
                    let (bits, form) = if is_wide { (64, "$a0.lo32") } else { (32, "$a0") };
                    let message = format!("arguments of {name} have {bits} bits");
                    return Err(self.error(at, message, &format!("they are written as `{form}`")));
                }
            }
        }
        if self.open.len() == MAX_DEPTH {
            let message = format!("blocks are nested deeper than {MAX_DEPTH}");
            let help = "libseccomp writes about 40 levels at most";
            return Err(self.error(at, message, help).topic(Topic::TooLarge));
        }
        self.open.push(Block { at, indent: line.indent, test, is_else: false, inside: None });
        Ok(())
    }

    /// Begins the filter of an architecture.
    fn begin_arch(&mut self, at: usize, test: Comparison) -> Result<()> {
        if let Some(filter) = self.filters.last().filter(|filter| filter.default.is_none()) {
            return Err(self.incomplete(filter));
        }
        let token = test.value;
        let mut arches = Arch::with_token(token);
        let (first, name) = (arches.next(), self.arch_name.take());
        let named = name.and_then(Arch::from_name).filter(|arch| arch.token() == token);
        let arch = match (test.cmp, named.or(first)) {
            (Cmp::Eq, Some(arch)) if test.mask == u32::MAX => arch,
            _ => {
                let message = format!("{token} is not the number of an architecture that is known");
                return Err(self.error(
                    at,
                    message,
                    "the numbers are those of AUDIT_ARCH_… in audit.h",
                ));
            }
        };
        if let (Some(name), None) = (name, named) {
            let message = format!(
                "the comment before it says {}, but {token} is {}",
                shorten(name),
                arch.name()
            );
            self.warnings.push(Diagnostic::warning(Some(self.positions.of(at)), message));
        }
        let is_named = named.is_some();
        self.filters.push(ArchFilter { at, arch, is_named, rules: Vec::new(), default: None });
        Ok(())
    }

    /// Warns if the comment before a number names another syscall.
    fn check_name(&mut self, at: usize, test: Comparison) {
        let Some(name) = self.syscall_name.take() else { return };
        let Some(filter) = self.filters.last() else { return };
        let known = filter.arch.number(name);
        if let (Cmp::Eq, Some(number)) = (test.cmp, known.filter(|known| *known != test.value)) {
            let own = filter.arch.syscall_name(test.value).unwrap_or("no known syscall");
            let message = format!(
                "the comment before it says {}, which is {number}, but {} is {own}",
                shorten(name),
                test.value
            );
            let warning = Diagnostic::warning(Some(self.positions.of(at)), message);
            self.warnings.push(warning.help("the number decides"));
        }
    }

    fn action(&mut self, at: usize, verdict: Verdict) -> Result<()> {
        match self.open.as_slice() {
            [] => match self.filters.last() {
                Some(filter) if filter.default.is_none() => Err(self.incomplete(filter)),
                _ => {
                    self.bad_arch = Some(verdict);
                    Ok(())
                }
            },
            [_] => {
                if let Some(filter) = self.filters.last_mut() {
                    filter.default = Some((at, verdict));
                }
                Ok(())
            }
            [_, blocks @ ..] => {
                let rule = rule(blocks, verdict);
                self.comparisons = self.comparisons.saturating_add(blocks.len());
                if self.comparisons > MAX_COMPARISONS {
                    let message = format!(
                        "the rules up to this line have more than {MAX_COMPARISONS} comparisons, the limit"
                    );
                    let help = "give a text with fewer rules";
                    return Err(self.error(at, message, help).topic(Topic::TooLarge));
                }
                let is_named = |block: &&Block| block.test.left == Left::Syscall;
                let named = blocks.iter().rfind(is_named).map_or(at, |block| block.at);
                if let (Some(filter), Some(rule)) = (self.filters.last_mut(), rule) {
                    filter.rules.push(PlacedRule { at: named, rule });
                }
                Ok(())
            }
        }
    }

    fn incomplete(&self, filter: &ArchFilter) -> Diagnostic {
        let message =
            format!("the filter of {} has no default action, so it is incomplete", filter.arch);
        self.error(
            filter.at,
            message,
            "give the whole text with its indentation, as seccomp_export_pfc writes it",
        )
    }

    /// Checks that the text is complete.
    ///
    /// # Errors
    /// If an action is missing.
    pub(super) fn finish(&mut self) -> Result<Verdict> {
        if let Some(filter) = self.filters.last().filter(|filter| filter.default.is_none()) {
            return Err(self.incomplete(filter));
        }
        // Without the comments, the numbers tell x32 from x86_64.
        for filter in &mut self.filters {
            let is_x32 = |rule: &PlacedRule| {
                let first = rule.rule.syscalls.ranges().first();
                first.is_some_and(|(first, _)| (X32_SYSCALL_BIT..PSEUDO.start).contains(first))
            };
            let may_be = filter.arch == Arch::X86_64 && !filter.is_named;
            if may_be && !filter.rules.is_empty() && filter.rules.iter().all(is_x32) {
                filter.arch = Arch::X32;
            }
        }
        self.bad_arch.ok_or_else(|| {
            let message = "the text does not end with the action for other architectures, so it is incomplete";
            Diagnostic::error(None, message)
                .help("give the whole text: its last line before the comments is an action")
        })
    }
}

/// The rule of an action in these blocks; `None` if nothing reaches it.
fn rule(blocks: &[Block], verdict: Verdict) -> Option<Rule> {
    let mut numbers = vec![(0, u32::MAX)];
    let mut tests = Vec::new();
    for Block { test, is_else, .. } in blocks {
        let cmp = if *is_else { test.cmp.negated() } else { test.cmp };
        let Comparison { mask, value, .. } = *test;
        match test.left {
            Left::Word(word) => tests.push(WordTest { word, mask, cmp, value }),
            Left::Syscall => numbers = within(&numbers, cmp, value),
            Left::Arch => {}
        }
    }
    let is_pseudo =
        matches!(numbers.as_slice(), [(first, last)] if first == last && PSEUDO.contains(first));
    let when: Condition = condition(&tests).filter(|_| !numbers.is_empty() && !is_pseudo)?;
    Some(Rule { syscalls: SyscallSet::from_ranges(numbers), when, verdict })
}

/// The numbers of these ranges for which a comparison holds.
fn within(ranges: &[(u32, u32)], cmp: Cmp, value: u32) -> Vec<(u32, u32)> {
    let below = value.checked_sub(1).map(|last| (0, last));
    let above = value.checked_add(1).map(|first| (first, u32::MAX));
    let allowed = match cmp {
        Cmp::Eq => [Some((value, value)), None],
        Cmp::Ne => [below, above],
        Cmp::Lt => [below, None],
        Cmp::Le => [Some((0, value)), None],
        Cmp::Gt => [above, None],
        Cmp::Ge => [Some((value, u32::MAX)), None],
    };
    let each = |(first, last): &(u32, u32)| {
        let (first, last) = (*first, *last);
        allowed.into_iter().flatten().filter_map(move |(from, to)| {
            let range = (first.max(from), last.min(to));
            (range.0 <= range.1).then_some(range)
        })
    };
    ranges.iter().flat_map(each).collect()
}

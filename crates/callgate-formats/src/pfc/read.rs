//! Reads a text: from the lines to a [`Profile`].

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_core::Verdict;
use callgate_core::policy::{Condition, Policy, Rule, Section};

use super::blocks::{ArchFilter, Blocks};
use super::lines::read_lines;
use crate::diagnostics::positions::Positions;
use crate::included::check_text_size;
use crate::profile::Profile;
use crate::statements::{Site, Statement, Statements, other_abis};

/// What a text is read for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Whether the result has [`statements`](Profile::statements).
    pub statements: bool,
}

/// Reads a text.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::pfc::{ReadOptions, read};
///
/// let text = "\
/// if ($arch == 3221225534)
///   if ($syscall == 0)
///     action ALLOW;
///   action ERRNO(1);
/// action KILL;
/// ";
/// let profile = read(text, &ReadOptions::default())?;
/// let read = SeccompData { nr: 0, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&read), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// The first message about what is not pseudo filter code, or not complete.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    check_text_size(text)?;
    let positions = Positions::new(text);
    let mut blocks = Blocks::new(&positions);
    let mut warnings = read_lines(text, &positions, |line| blocks.line(line))?;
    let bad_arch = blocks.finish()?;
    warnings.append(&mut blocks.warnings);
    warnings.sort_by_key(|warning| warning.position);
    let sections = sections(&blocks.filters, bad_arch, &positions)?;
    let statements =
        options.statements.then(|| statements(&blocks.filters, &sections, bad_arch, &positions));
    let policy = Policy::new(sections, bad_arch)
        .map_err(|error| Diagnostic::error(None, error.to_string()))?;
    Ok(Profile { warnings, statements, ..Profile::of(policy) })
}

/// A section for each number in `$arch`.
fn sections(
    filters: &[ArchFilter],
    bad_arch: Verdict,
    positions: &Positions<'_>,
) -> Result<Vec<Section>, Diagnostic> {
    let mut sections: Vec<Section> = Vec::new();
    for filter in filters {
        let error = |message: String| {
            let error = Diagnostic::error(Some(positions.of(filter.at)), message);
            error.help("give the text as seccomp_export_pfc writes it")
        };
        let rules = filter.rules.iter().map(|placed| placed.rule.clone());
        let default = filter.default.map_or(bad_arch, |(_, verdict)| verdict);
        let same = sections.iter_mut().find(|section| section.token() == filter.arch.token());
        let Some(section) = same else {
            sections.push(Section::new(filter.arch, rules.collect(), default));
            continue;
        };
        let mut joined = section
            .clone()
            .and_arch(filter.arch)
            .map_err(|_| error(format!("a second filter for {}", filter.arch)))?;
        if section.default != default {
            let message = format!(
                "the default action for {} is {default}, but {} before, and libseccomp has one for both",
                filter.arch, section.default
            );
            return Err(error(message));
        }
        joined.rules.extend(rules);
        *section = joined;
    }
    for section in &mut sections {
        let syscalls = section.other_abi();
        if !syscalls.is_empty() {
            let other = Rule { syscalls, when: Condition::always(), verdict: bad_arch };
            section.rules.insert(0, other);
        }
    }
    Ok(sections)
}

/// The rules as the text states them. A rule for many numbers, which libseccomp does not write, is none.
fn statements(
    filters: &[ArchFilter],
    sections: &[Section],
    bad_arch: Verdict,
    positions: &Positions<'_>,
) -> Statements {
    let site = |at| Site { file: None, position: positions.of(at) };
    let each = filters.iter().flat_map(|filter| {
        filter.rules.iter().filter_map(move |placed| {
            let nr = match placed.rule.syscalls.ranges() {
                [(first, last)] if first == last => *first,
                _ => return None,
            };
            Some(Statement {
                site: site(placed.at),
                name: filter.arch.syscall_name(nr).map_or_else(|| nr.to_string(), str::to_owned),
                arch: filter.arch,
                nr,
                when: placed.rule.when.clone(),
                verdict: placed.rule.verdict,
            })
        })
    });
    Statements {
        rules: each.collect(),
        builtin: other_abis(sections, bad_arch),
        default: filters.iter().find_map(|filter| filter.default).map(|(at, _)| site(at)),
        ..Statements::default()
    }
}

//! What happens to one syscall, and why.

use callgate::{Arch, SeccompData};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::diagram::DiagramError;
use callgate_core::is_constant_allow;
use callgate_formats::statements::{Inactive, Statement};
use callgate_formats::why::{Cause, Why, why};
use callgate_requests::any_values::depending;
use callgate_requests::source::{FilterContent, Message, Messages, SourceFilter};
use callgate_requests::{Call, syscall};

use super::change::{allow, wanted};
use super::filter::Shown;
use super::steps::{Executed, Rules, steps};
use crate::describe::lines;
use crate::web::analysis::Analysis;
use crate::web::messages::place;
use crate::{Markup, Section, chip, counted, grouped};

/// Simulates a syscall.
///
/// # Errors
/// If the syscall cannot be read.
pub(crate) fn simulate(mut analysis: Analysis<'_>, call: &Call) -> Result<Shown, Messages> {
    let failed = |diagnostic| vec![Message::of_request(diagnostic)];
    let of_diagram = |error: DiagramError| failed(Diagnostic::error(None, error.to_string()));
    let machine = analysis.source.reading.machine;
    let arch = call.arch_among(&analysis.arches, machine);
    let (mut data, any) = call.with_any(arch, false).map_err(failed)?;
    let shown = syscall::show_any(Some(arch), &data, &any);
    let mut diagram = (std::mem::take(&mut analysis.store), analysis.root);
    let depending = match any.as_slice() {
        [] => None,
        any => depending((&mut diagram.0, diagram.1), arch, &data, any).map_err(of_diagram)?,
    };
    // The verdict, its rule and the steps are then those of an example.
    data = depending.as_ref().map_or(data, |depending| depending.example);
    let verdict = diagram.0.evaluate(diagram.1, &data).map_err(of_diagram)?;
    let status = match &depending {
        None => format!("{arch} {shown}: {verdict}"),
        Some(_) => format!("{arch} {shown}: depends on the arguments that may have any value."),
    };
    let mut changes = Vec::new();
    let section = Section::new("simulated", "Verdict", |body| {
        if let Some(depending) = &depending {
            body.element("p", &[("class", "headline")], |line| {
                line.leaf("code", &[], &format!("{arch} {shown}"));
                line.text(":");
            });
            let name = syscall::name(Some(arch), data.nr);
            body.element("ul", &[], |list| {
                let lines = lines(&depending.outcome, arch, &[(data.nr, name.as_str())]);
                lines.iter().for_each(|line| list.leaf("li", &[], line));
            });
            body.paragraph("An example:");
        }
        body.element("p", &[("class", "headline")], |line| {
            let call = match &depending {
                None => shown.clone(),
                Some(_) => syscall::show(Some(arch), &data),
            };
            line.leaf("code", &[], &format!("{arch} {call}"));
            line.text(" ");
            line.append(&chip(verdict));
        });
        body.element("ul", &[], |list| {
            let is_alone = analysis.stack.filters.len() == 1;
            for filter in &analysis.stack.filters {
                reason(list, filter, &data, arch, (&analysis.source.name, is_alone));
            }
            if let Ok(compiled) = &analysis.compiled {
                let run = compiled.program.run(&data, analysis.endian);
                let executed = counted(run.executed, "instruction");
                list.leaf("li", &[], &format!("The program executes {executed}."));
                // The kernel's cache contains neither x32 numbers nor those above its table of syscalls.
                let can_be_cached = arch != Arch::X32 && arch.syscall_name(data.nr).is_some();
                if can_be_cached && is_constant_allow(&compiled.program, data.arch, data.nr) {
                    let text = "Linux 5.11 and later has this in its cache and does not execute the program.";
                    list.leaf("li", &[], text);
                }
            }
        });
        if !verdict.permits() {
            let mut wanted = wanted(arch, &data, call.args.len());
            for (index, arg) in (0u8..).zip(&mut wanted.args) {
                if any.contains(&index) {
                    *arg = None;
                }
            }
            allow(body, &wanted, &[], &data, &mut diagram, (&analysis, &mut changes));
        }
    });
    let mut sections = vec![section];
    sections.extend(executions(&analysis, arch, &data));
    Ok(Shown { status, changes, ..Shown::of(sections) })
}

/// The steps of the given program, if there is one, and of the compiled one.
fn executions(analysis: &Analysis<'_>, arch: Arch, data: &SeccompData) -> Vec<Section> {
    let rules = match analysis.stack.filters.as_slice() {
        [only] => Rules::of(only, data, arch),
        _ => Rules::default(),
    };
    let (name, rules) = (analysis.source.name.as_str(), &rules);
    let given = analysis.given();
    let title = |of: &str| match given {
        None => "Step by step".to_owned(),
        Some(_) => format!("Step by step: the program {of}"),
    };
    let of_given = given.map(|(program, endian)| {
        let title = ("given-steps", title("as given"));
        steps(&Executed { title, program, endian, arch, data, name, rules })
    });
    let of_compiled = analysis.compiled.as_ref().ok().map(|compiled| {
        let (title, endian) = (("steps", title("as compiled")), analysis.endian);
        steps(&Executed { title, program: &compiled.program, endian, arch, data, name, rules })
    });
    of_given.into_iter().chain(of_compiled).collect()
}

/// What the text of a filter says about a syscall, as items of a list.
pub(super) fn reason(
    list: &mut Markup,
    filter: &SourceFilter,
    data: &SeccompData,
    arch: Arch,
    (name, is_alone): (&str, bool),
) {
    let (FilterContent::Policy(policy), Some(statements)) = (&filter.content, filter.statements())
    else {
        return;
    };
    let Why { verdict, cause, overruled, unmet, inactive, .. } =
        why(policy, statements, data, arch.syscall_name(data.nr));
    list.element("li", &[], |item| {
        if !is_alone {
            item.text(&format!("{}: {verdict}. ", filter.name));
        }
        match cause {
            Cause::Rules(rules) => {
                item.text(match rules.as_slice() {
                    [_] => "The rule that decides is at",
                    _ => "The rules that decide are at",
                });
                places(item, name, &rules);
            }
            Cause::Builtin(rule) => {
                let reason = rule.reason;
                item.text(&format!(
                    "A built-in rule, which is not in the text, decides: {reason}."
                ));
            }
            Cause::Default(site) => {
                item.text("No rule applies, so the default action decides");
                if let Some(site) = site {
                    item.text(", at");
                    place(item, name, site);
                }
                item.text(".");
            }
            Cause::OtherArch => item.text("The filter has no rules for this architecture."),
        }
    });
    others(list, name, "Not met for these arguments: the conditions at", &unmet);
    others(list, name, "Overruled: the rules at", &overruled);
    not_in_effect(list, name, &inactive);
}

/// Rules that would apply under other conditions, such as with a capability, each with what is missing.
fn not_in_effect(list: &mut Markup, name: &str, rules: &[&Inactive]) {
    /// The maximum number of rules that are listed.
    const MAX: usize = 5;
    for rule in rules.iter().take(MAX) {
        list.element("li", &[], |item| {
            item.text(&format!("Not in effect: {} at", rule.verdict));
            place(item, name, &rule.site);
            item.text(&format!(": {}.", rule.reason));
        });
    }
}

/// Rules that do not decide.
fn others(list: &mut Markup, name: &str, label: &str, rules: &[&Statement]) {
    if rules.is_empty() {
        return;
    }
    list.element("li", &[], |item| {
        item.text(label);
        places(item, name, rules);
    });
}

/// The places of rules, and a full stop.
fn places(item: &mut Markup, name: &str, rules: &[&Statement]) {
    /// The maximum number of rules that are listed.
    const MAX: usize = 10;
    rules.iter().take(MAX).for_each(|rule| place(item, name, &rule.site));
    if let Some(more @ 1..) = rules.len().checked_sub(MAX) {
        item.text(&format!(" and {} more", grouped(more)));
    }
    item.text(".");
}

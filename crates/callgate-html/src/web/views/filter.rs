//! What views show, and those of one filter: what it does, what lint found, its program.

use callgate::Endian;
use callgate::compile::Execution;
use callgate_codegen::Weights;
use callgate_core::LongProgram;
use callgate_requests::json::Json;

use super::change::{MOST_CHANGES, allow, named};
use crate::Section;
use crate::sections::{
    Cost, ProgramCost, arguments, cost, decisions, findings as section, map, program as listing,
    summary,
};
use crate::web::analysis::{Analysis, Figures};
use crate::web::messages;
use crate::web::paths::{lines, paths, rules};

/// The result of a view.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) sections: Vec<Section>,
    /// In a sentence; empty takes the figures of the filter.
    pub(crate) status: String,
    /// What was written: a name for the file, and its content.
    pub(crate) file: Option<(String, String)>,
    /// Texts that may replace that of the filter: elements with `data-change` propose them by their index.
    pub(crate) changes: Vec<String>,
    /// Which syscalls may execute which instructions of the listing.
    pub(crate) paths: Option<Json>,
    /// Where the text states rules about which syscalls.
    pub(crate) rules: Option<Json>,
    /// The lines of the instructions of a program as text.
    pub(crate) lines: Option<Json>,
}

impl Shown {
    pub(crate) fn of(sections: Vec<Section>) -> Shown {
        Shown { sections, ..Shown::default() }
    }
}

/// The summary, the map, the conditions, and the instructions, which the map leads to.
pub(crate) fn explanation(analysis: &Analysis<'_>) -> Shown {
    /// Longer programs are listed in their own view only.
    const MAX: usize = 500;
    let subject = analysis.subject();
    let mut sections = vec![summary(&subject), map(&subject, None), arguments(&subject)];
    let compiled = analysis.compiled.as_ref().ok();
    let compiled =
        compiled.map(|compiled| -> (&LongProgram, Endian) { (&compiled.program, analysis.endian) });
    let program = analysis.given().or(compiled).filter(|(program, _)| program.len() <= MAX);
    let paths = program.map(|(program, endian)| {
        sections.push(listing(program, endian, &analysis.arches, None));
        paths(program, analysis, endian)
    });
    let lines =
        analysis.given().zip(analysis.text()).map(|((program, _), text)| lines(text, program));
    Shown { paths, rules: Some(rules(analysis)), lines, ..Shown::of(sections) }
}

/// The findings, which are among the figures of the filter, with changes where these are known; or why it cannot be checked.
pub(crate) fn findings(figures: &Figures, mut analysis: Analysis<'_>) -> Shown {
    let findings = match &figures.findings {
        Ok(findings) => findings,
        Err(errors) => {
            let why = Section::new("findings", "Findings", |body| {
                body.paragraph("The filter cannot be checked.");
                body.append(&messages::markup(errors));
            });
            return Shown { status: messages::status(errors), ..Shown::of(vec![why]) };
        }
    };
    let mut sections = vec![section(findings)];
    let mut changes = Vec::new();
    let mut diagram = (std::mem::take(&mut analysis.store), analysis.root);
    let known =
        figures.to_allow.iter().filter_map(|(arch, name)| Some((name, named(*arch, name)?)));
    let known: Vec<_> = known.take(MOST_CHANGES).collect();
    if !known.is_empty() {
        sections.push(Section::new("changes", "Changes", |body| {
            for (name, (wanted, data)) in &known {
                body.element("div", &[("class", "denial")], |item| {
                    item.element("h3", &[], |title| {
                        title.text("Allow ");
                        title.leaf("code", &[], name);
                    });
                    allow(item, wanted, &[], data, &mut diagram, (&analysis, &mut changes));
                });
            }
        }));
    }
    Shown { changes, ..Shown::of(sections) }
}

/// The compiled program, beside the given one if the source is a program.
pub(crate) fn program(analysis: &Analysis<'_>) -> Shown {
    let compiled = match &analysis.compiled {
        Ok(compiled) => compiled,
        Err(errors) => {
            let why = Section::new("program", "Program", |body| {
                body.paragraph(
                    "This filter could not be compiled to a program that the kernel accepts.",
                );
                body.append(&messages::markup(errors));
            });
            return Shown { status: messages::status(errors), ..Shown::of(vec![why]) };
        }
    };
    let Analysis { store, root, arches, endian, .. } = analysis;
    let (root, endian) = (*root, *endian);
    let own = analysis.own_weights();
    let weights = own.cloned().unwrap_or_else(Weights::uniform);
    let weighted = weights.resolve(store, root, arches);
    let execution = Execution::new(store, root, &compiled.program, &weighted, endian);
    let given = analysis
        .given()
        .map(|(given, _)| Execution::of_given(store, root, given, &weighted, endian));
    let mut programs: Vec<ProgramCost<'_>> = Vec::new();
    programs.extend(given.iter().map(|execution| ProgramCost { name: "as given", execution }));
    programs.push(ProgramCost { name: "compiled", execution: &execution });
    let hot = own.is_some().then_some(&execution);
    let weights = own.is_some().then_some(analysis.stack.name.as_str());
    let paths = Some(paths(&compiled.program, analysis, endian));
    let sections = vec![
        cost(&Cost { programs: &programs, weights, how_to_weigh: "", measured: None }),
        listing(&compiled.program, endian, arches, hot),
        decisions(&compiled.program, endian, arches, hot),
    ];
    Shown { paths, ..Shown::of(sections) }
}

//! Writes the page.

use callgate_html::sections::{arguments, comparison, map, summary};
use callgate_html::{Page, Section};

use super::analysis::Analysis;
use super::args::ReportArgs;
use super::findings::findings;
use super::programs;
use super::read::{Filters, read};
use crate::output::{self, NewFile};
use crate::page_facts;
use crate::report::{Failure, Result};
use crate::source::{LoadedSource, SourceStack};

pub(crate) fn run(args: &ReportArgs) -> Result<u8> {
    let mut origin = page_facts::origin()?;
    let Filters { stacks, last } = read(args)?;
    let analysis = Analysis::new(&stacks)?;
    // A measurement takes long, so first check that the page can be written.
    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    let file = output.map(NewFile::prepare).transpose()?;
    let sections = sections(args, &last, &analysis)?;
    let mut facts = facts(&stacks);
    facts.append(&mut origin);
    let page = Page { title: title(&stacks), facts, warnings: page_facts::warnings(), sections };
    match file {
        Some(file) => file.finish(page.html().as_bytes())?,
        None => output::print_bytes(page.html().as_bytes())?,
    }
    Ok(0)
}

fn sections(
    args: &ReportArgs,
    source: &LoadedSource,
    analysis: &Analysis<'_>,
) -> Result<Vec<Section>> {
    let (Some(last), Some(subject)) = (analysis.last(), analysis.subject()) else {
        return Err(Failure::new("there is no filter"));
    };
    let compared = analysis.comparison();
    let mut sections: Vec<Section> = compared.iter().map(comparison).collect();
    sections.push(summary(&subject));
    sections.push(map(&subject, compared.as_ref()));
    sections.push(arguments(&subject));
    sections.push(findings(source, last.0)?);
    sections.extend(programs::sections(&analysis.store, last, args)?);
    Ok(sections)
}

fn title(stacks: &[SourceStack]) -> String {
    match stacks {
        [before, after] => format!("Seccomp filter: {} compared with {}", after.name, before.name),
        stacks => {
            let names: Vec<&str> = stacks.iter().map(|stack| stack.name.as_str()).collect();
            format!("Seccomp filter: {}", names.join(", "))
        }
    }
}

/// Facts about the filter that the page is about.
fn facts(stacks: &[SourceStack]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let Some(stack) = stacks.last() else { return facts };
    let names: Vec<&str> = stack.arches().iter().map(|arch| arch.name()).collect();
    facts.push(("architectures", names.join(", ")));
    if stack.filters.len() > 1 {
        facts.push((
            "filters",
            format!("{}; the page shows what they do together", stack.filters.len()),
        ));
    }
    let flags: Vec<&str> = stack.flags().each().map(|(_, name, _)| name).collect();
    if !flags.is_empty() {
        facts.push(("flags", flags.join(", ")));
    }
    facts
}

//! `callgate man`: one manual page with all subcommands.

use std::io::{self, Write};

use clap_mangen::Man;

use crate::output;
use crate::report::{Failure, Result};

/// Print the manual page (roff)
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callgate man | man -l -
  callgate man > ~/.local/share/man/man1/callgate.1

Exit status: 0 success, 2 error.")]
pub(crate) struct ManArgs {}

pub(crate) fn run(_: &ManArgs, command: clap::Command) -> Result<u8> {
    let page = page(command)
        .map_err(|error| Failure::new(format!("cannot render the manual page: {error}")))?;
    output::print_bytes(&page)?;
    Ok(0)
}

/// The page of the command itself, then a section for each subcommand.
fn page(mut command: clap::Command) -> io::Result<Vec<u8>> {
    command.build();
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    after_help(&command, &mut page)?;
    // Some subcommands have subcommands of their own.
    let own = |of: &'_ clap::Command| -> Vec<clap::Command> {
        of.get_subcommands().filter(|sub| sub.get_name() != "help").cloned().collect()
    };
    let all = own(&command).into_iter().flat_map(|sub| [vec![sub.clone()], own(&sub)].concat());
    for subcommand in &all.collect::<Vec<_>>() {
        let man = Man::new(subcommand.clone());
        let mut section = Vec::new();
        man.render_synopsis_section(&mut section)?;
        man.render_description_section(&mut section)?;
        man.render_options_section(&mut section)?;
        after_help(subcommand, &mut section)?;
        // The sections of the subcommand's own page become subsections here.
        let section = String::from_utf8_lossy(&section).replace("\n.SH ", "\n.SS ");
        let heading = subcommand.get_bin_name().unwrap_or_else(|| subcommand.get_name());
        writeln!(page, ".SH \"{}\"", heading.to_uppercase())?;
        page.extend(
            section.strip_prefix(".SH ").map_or(section.clone(), |s| format!(".SS {s}")).bytes(),
        );
    }
    Ok(page)
}

/// The text after the options, with its line breaks: notes, then the examples and exit statuses in sections of their
/// own.
fn after_help(command: &clap::Command, page: &mut Vec<u8>) -> io::Result<()> {
    let Some(text) = command.get_after_help() else {
        return Ok(());
    };
    let mut heading = Some("NOTES");
    let mut is_open = false;
    for line in text.to_string().lines() {
        let line = match line.strip_prefix("Exit status: ") {
            _ if line == "Examples:" => {
                heading = Some("EXAMPLES");
                continue;
            }
            Some(rest) => {
                heading = Some("EXIT STATUS");
                rest
            }
            None => line,
        };
        if let Some(heading) = heading.take() {
            write!(page, "{}.SH \"{heading}\"\n.nf\n", if is_open { ".fi\n" } else { "" })?;
            is_open = true;
        }
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        // A dot or a quote at the start would be a request to roff.
        let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
        writeln!(page, "{guard}{line}")?;
    }
    if is_open { writeln!(page, ".fi") } else { Ok(()) }
}

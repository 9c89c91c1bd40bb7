//! `callgate man`: manual pages, one per subcommand.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueHint;
use clap_mangen::Man;

use crate::output;
use crate::report::{Failure, Result};
use crate::text::did_you_mean;

/// Print a manual page (roff), or write all of them
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without COMMAND, prints the page about callgate as a whole.

Examples:
  callgate man | man -l -
  callgate man compile | man -l -
  callgate man -o ~/.local/share/man/man1

Exit status: 0 success, 2 error.")]
pub(crate) struct ManArgs {
    /// The subcommand, such as compile or bench engines
    command: Vec<String>,

    /// Write the page of each subcommand into this directory, which is created: callgate.1, callgate-compile.1
    #[arg(short, long, alias = "out", value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "command")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs, mut root: clap::Command) -> Result<u8> {
    root.build();
    let pages = pages(&root);
    let failed = |error| Failure::new(format!("cannot render the manual page: {error}"));
    if let Some(directory) = &args.output {
        std::fs::create_dir_all(directory).map_err(|error| {
            let why = callgate_linux::error_text(&error);
            Failure::about(
                directory.display().to_string(),
                format!("the directory cannot be created: {why}"),
            )
        })?;
        for page in &pages {
            let text = page.render(&pages).map_err(failed)?;
            output::write_file(&directory.join(format!("{}.1", page.name())), &text)?;
        }
        return Ok(0);
    }
    let Some(page) = pages.iter().find(|page| page.words == args.command) else {
        let word = args.command.join(" ");
        let names: Vec<String> = pages.iter().map(|page| page.words.join(" ")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(Failure::new(format!("there is no subcommand \"{word}\""))
            .help(format!("`callgate --help` lists all{}", did_you_mean(&word, &names))));
    };
    output::print_bytes(&page.render(&pages).map_err(failed)?)?;
    Ok(0)
}

/// The page of a command.
struct Page {
    /// The names of the subcommand; none for the command as a whole.
    words: Vec<String>,
    command: clap::Command,
}

/// The pages of a command and of all of its subcommands, except for `help`.
fn pages(root: &clap::Command) -> Vec<Page> {
    let mut pages = vec![Page { words: Vec::new(), command: root.clone() }];
    let own = |of: &clap::Command| -> Vec<clap::Command> {
        of.get_subcommands().filter(|sub| sub.get_name() != "help").cloned().collect()
    };
    for command in own(root) {
        let words = vec![command.get_name().to_owned()];
        // Some subcommands have subcommands of their own.
        let inner = own(&command).into_iter().map(|inner| {
            let words = [words.as_slice(), &[inner.get_name().to_owned()]].concat();
            Page { words, command: inner }
        });
        let inner: Vec<Page> = inner.collect();
        pages.push(Page { words, command });
        pages.extend(inner);
    }
    pages
}

impl Page {
    /// The name of the page: `callgate-bench-engines`.
    fn name(&self) -> String {
        ["callgate"]
            .into_iter()
            .chain(self.words.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("-")
    }

    fn render(&self, all: &[Page]) -> io::Result<Vec<u8>> {
        let name = self.name();
        let man = Man::new(self.command.clone())
            .title(name.to_uppercase())
            .source(concat!("callgate ", env!("CARGO_PKG_VERSION")));
        let mut page = Vec::new();
        man.render_title(&mut page)?;
        let about = self.command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(page, ".SH NAME\n{} \\- {}", escaped(&name), escaped(&about))?;
        man.render_synopsis_section(&mut page)?;
        man.render_options_section(&mut page)?;
        let inner: Vec<&Page> = all.iter().filter(|page| self.is_above(page)).collect();
        if !inner.is_empty() {
            writeln!(page, ".SH COMMANDS")?;
            for inner in &inner {
                let about = inner.command.get_about().map(ToString::to_string).unwrap_or_default();
                writeln!(page, ".TP\n\\fB{}\\fR(1)\n{}", escaped(&inner.name()), escaped(&about))?;
            }
        }
        after_help(&self.command, &mut page)?;
        let others = all.iter().filter(|page| page.is_above(self)).chain(inner);
        let others: Vec<String> =
            others.map(|page| format!("\\fB{}\\fR(1)", escaped(&page.name()))).collect();
        writeln!(page, ".SH \"SEE ALSO\"\n{}, \\fBseccomp\\fR(2)", others.join(",\n"))?;
        Ok(page)
    }

    /// Whether a page is about a direct subcommand.
    fn is_above(&self, other: &Page) -> bool {
        other.words.len() == self.words.len() + 1 && other.words.starts_with(&self.words)
    }
}

/// Text in which roff sees no requests.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A dot or a quote at the start would be a request to roff.
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
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
        writeln!(page, "{}", escaped(line))?;
    }
    if is_open { writeln!(page, ".fi") } else { Ok(()) }
}

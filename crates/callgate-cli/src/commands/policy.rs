//! `callgate policy`: writes what a filter must do, as a policy text.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueHint;

use crate::options::SourceOptions;
use crate::report::Result;
use crate::source::{BUILT_IN, Source};
use crate::{output, policy_text};

/// Write the rules of a filter as a policy text, for review and for callgate-check
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The text has all rules in their order, with numbers: includes, groups, defaults
and conditions on capabilities and the kernel have been resolved. Comments have
the names. `callgate-check`, which is proved in Coq, compares a program with it,
and it is a SOURCE itself: `callgate diff` compares two texts, or a text with a
profile or program. docs/reference/languages/policy-text.md has its grammar.

Programs have no rules; `callgate explain` lists what they do.

Examples:
  callgate policy profile.json > profile.txt
  callgate policy docker-default --arch aarch64 -o docker.txt
  callgate policy foo.service -o foo.txt; callgate diff foo.txt foo.service
  callgate compile p.json -o f.bpf --policy f.txt; callgate-check f.txt f.bpf

Exit status: 0 success, 2 error.")]
pub(crate) struct PolicyArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    /// Write the text to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    #[command(flatten)]
    reading: SourceOptions,
}

pub(crate) fn run(args: &PolicyArgs) -> Result<u8> {
    let reading = args.reading.for_kernel().with_statements();
    let stack = Source::parse(&args.source)?.read(&reading)?;
    let text = policy_text::text_of(&stack, &args.reading.conditions())?;
    match &args.output {
        Some(file) => output::write_file(file, text.as_bytes())?,
        None => output::print(&text)?,
    }
    Ok(0)
}

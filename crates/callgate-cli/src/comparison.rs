//! The command line of `diff` and `subset`, which compare two filters.

use std::ffi::OsString;

use callgate::codegen::query::Difference;
use callgate::diagram::{Func, Store};
use clap::ValueHint;

use crate::differences::{self, Titles};
use crate::options::{OptionsOfA, OptionsOfB, SourceOptions, TextFormat, native_arch, parse_u32};
use crate::output;
use crate::report::{self, Result};
use crate::source::{Source, Stack};
use callgate_requests::differences::{Compared, Differences};
use callgate_requests::json::Json;

/// Two filters, and how their differences are printed.
#[derive(Debug, clap::Args)]
pub(crate) struct ComparisonArgs {
    /// Filter A, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    a: OsString,

    /// Filter B, a SOURCE
    #[arg(value_hint = ValueHint::FilePath)]
    b: OsString,

    /// The maximum number of groups of syscalls to print [default: all]
    #[arg(long, value_name = "N", value_parser = parse_u32, allow_negative_numbers = true)]
    max: Option<u32>,

    /// In text, also print N syscalls before and after each difference, by number, for which A and B do the same
    #[arg(long, value_name = "N", value_parser = parse_u32, default_value = "0", hide_default_value = true)]
    context: u32,

    /// The format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    of_a: OptionsOfA,

    #[command(flatten)]
    of_b: OptionsOfB,
}

/// The filters as functions.
pub(crate) struct Functions {
    pub(crate) store: Store,
    pub(crate) a: Func,
    pub(crate) b: Func,
}

impl Functions {
    /// Builds the MTBDDs of two filters.
    pub(crate) fn new(a: &Stack, b: &Stack) -> Result<Functions> {
        let mut store = Store::default();
        let (a, b) = (a.diagram(&mut store)?, b.diagram(&mut store)?);
        Ok(Functions { store, a, b })
    }
}

impl ComparisonArgs {
    /// Reads the filters. Prints warnings.
    pub(crate) fn read(&self) -> Result<(Stack, Stack)> {
        let (a, b) = (Source::parse(&self.a)?, Source::parse(&self.b)?);
        let (of_a, of_b) = (self.of_a.own(), self.of_b.own());
        let own = [(OptionsOfA::SUFFIX, &of_a), (OptionsOfB::SUFFIX, &of_b)];
        Source::read_both([&a, &b], &self.reading, own)
    }

    /// Prints the differences, in JSON with whether there are none, each with its key. Returns the exit status.
    pub(crate) fn print(
        &self,
        filters: [&Stack; 2],
        functions: &Functions,
        (none_key, is_none): (&'static str, bool),
        (key, all): (&'static str, Vec<Difference>),
        titles: Titles,
    ) -> Result<u8> {
        let differences = Differences::new(all, native_arch().ok(), self.max);
        let roots = [functions.a, functions.b];
        let compared = Compared::new(&functions.store, roots, &differences);
        let [a, b] = filters.map(|filter| filter.name.as_str());
        let names = [header(a, &self.of_a.own()), header(b, &self.of_b.own())];
        if self.context > 0 && self.format != TextFormat::Text {
            report::warn("--context has an effect on text only", "omit it");
        }
        let text = match self.format {
            TextFormat::Json => {
                let mut fields = vec![(none_key, is_none.into())];
                fields.extend(differences.fields(key, &compared));
                format!("{}\n", Json::Object(fields))
            }
            TextFormat::Markdown => {
                differences::markdown(&differences, &names, &compared, titles, is_none)
            }
            TextFormat::Text if is_none => String::new(),
            TextFormat::Text => differences::text(&differences, &names, &compared, self.context),
        };
        output::print(&text)?;
        Ok(u8::from(!is_none))
    }
}

/// The name of a filter with the options that are only for it.
fn header(name: &str, own: &SourceOptions) -> String {
    let words = [name.to_owned()].into_iter().chain(own.arguments());
    words.collect::<Vec<_>>().join(" ")
}

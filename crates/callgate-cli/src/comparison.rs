//! The command line of `diff` and `subset`, which compare two filters.

use std::ffi::OsString;

use callgate::codegen::query::Difference;
use callgate::diagram::{DiagramError, Func, Split, Store};
use callgate::{Arch, Verdict, Word};
use clap::ValueHint;

use crate::differences::{self, Titles};
use crate::options::{OptionsOfA, OptionsOfB, SourceOptions, TextFormat, native_arch, parse_u32};
use crate::output;
use crate::report::{self, Failure, Result};
use crate::source::{Source, Stack};
use callgate_requests::differences::{Compared, Differences};
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// Two filters, and how their differences are printed.
#[derive(Debug, clap::Args)]
pub(crate) struct ComparisonArgs {
    /// Filter A, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    a: OsString,

    /// Filter B, a SOURCE
    #[arg(value_hint = ValueHint::FilePath)]
    b: OsString,

    /// Compare only what the filters do with these syscalls: names, or numbers as a filter sees them [default: all]
    #[arg(value_name = "SYSCALL")]
    calls: Vec<String>,

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
    fn new(a: &Stack, b: &Stack) -> Result<Functions> {
        let mut store = Store::default();
        let (a, b) = (a.diagram(&mut store)?, b.diagram(&mut store)?);
        Ok(Functions { store, a, b })
    }

    /// Makes the filters equal for all syscalls but these.
    fn keep_only(&mut self, arches: &[Arch], calls: &[String]) -> Result<()> {
        let numbers = syscall::find_all(arches, calls)?;
        let of_arch = |(arch, all): (&Arch, &Vec<u32>)| {
            let token = arch.token();
            all.iter().map(move |nr| (token, *nr)).collect::<Vec<_>>()
        };
        let kept: Vec<(u32, u32)> = arches.iter().zip(&numbers).flat_map(of_arch).collect();
        for func in [&mut self.a, &mut self.b] {
            let only = only(&mut self.store, *func, &kept);
            *func = only.map_err(|error| Failure::new(error.to_string()))?;
        }
        Ok(())
    }
}

/// A function for these syscalls, by arch token and number; ALLOW for others.
fn only(
    store: &mut Store,
    func: Func,
    calls: &[(u32, u32)],
) -> std::result::Result<Func, DiagramError> {
    let mut result = store.verdict(Verdict::ALLOW)?;
    for (token, nr) in calls {
        let of_arch = store.restrict(func, Word::ARCH, *token)?;
        let of_call = store.restrict(of_arch, Word::NR, *nr)?;
        let others = store.restrict(result, Word::ARCH, *token)?;
        let with_call = store.split(Word::NR, Split::Equal(*nr), of_call, others)?;
        result = store.split(Word::ARCH, Split::Equal(*token), with_call, result)?;
    }
    Ok(result)
}

impl ComparisonArgs {
    /// Reads the filters. Prints warnings.
    pub(crate) fn read(&self) -> Result<(Stack, Stack)> {
        let (a, b) = (Source::parse(&self.a)?, Source::parse(&self.b)?);
        let (of_a, of_b) = (self.of_a.own(), self.of_b.own());
        let own = [(OptionsOfA::SUFFIX, &of_a), (OptionsOfB::SUFFIX, &of_b)];
        Source::read_both([&a, &b], &self.reading, own)
    }

    /// Whether only some syscalls are compared.
    pub(crate) fn is_about_some(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The filters as functions; equal for syscalls that are not compared.
    pub(crate) fn functions(&self, a: &Stack, b: &Stack) -> Result<Functions> {
        let mut functions = Functions::new(a, b)?;
        if self.is_about_some() {
            functions.keep_only(&arches_of(a, b), &self.calls)?;
        }
        Ok(functions)
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

/// The architectures that one of the filters supports.
fn arches_of(a: &Stack, b: &Stack) -> Vec<Arch> {
    let mut arches = a.arches();
    for arch in b.arches() {
        if !arches.contains(&arch) {
            arches.push(arch);
        }
    }
    arches
}

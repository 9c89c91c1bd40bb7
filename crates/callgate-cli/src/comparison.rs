//! The command line of `diff` and `subset`, which compare two filters.

use std::ffi::OsString;

use callgate::sets::Arguments;
use callgate::{Arch, Verdict};
use callgate_codegen::query::{self, Difference};
use callgate_core::diagram::{DiagramError, Func, Split, Store};
use callgate_core::{Word, X32_SYSCALL_BIT};
use clap::{ValueEnum, ValueHint};

use crate::differences::{self, Shown, Titles};
use crate::options::{OptionsOfA, OptionsOfB, SourceOptions, TextFormat, native_arch, parse_u32};
use crate::output;
use crate::report::{self, Failure, Result};
use crate::source::{AnyBoth, Combine, Source, SourceFilter, SourceStack};
use crate::text::printable;
use callgate_requests::differences::{Compared, Differences};
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// The maximum number of groups of syscalls in text and Markdown, unless all are wanted.
const MAX_GROUPS: u32 = 40;

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

    /// The maximum number of groups of syscalls to print [default: 40 in text and Markdown, all in JSON]
    #[arg(long, value_name = "N", value_parser = parse_u32, allow_negative_numbers = true)]
    max: Option<u32>,

    /// List all groups; in text, also all names of syscalls, and what one filter does on ABIs for which the other one was
    /// not read
    #[arg(long, conflicts_with = "max")]
    all: bool,

    /// Which bits of arguments count: kernel (those that the kernel reads: of an int, the low 32 bits) or filter (all
    /// 64 bits, as filters compare them) [default: kernel for subset, filter for diff]
    #[arg(long, value_name = "BITS")]
    arguments: Option<ArgumentsArg>,

    /// In text, also print N syscalls before and after each difference, by number, for which A and B do the same
    #[arg(long, value_name = "N", value_parser = parse_u32, default_value = "0", hide_default_value = true)]
    context: u32,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    of_a: OptionsOfA,

    #[command(flatten)]
    of_b: OptionsOfB,
}

/// Which bits of arguments count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ArgumentsArg {
    /// Those that the kernel reads: of an int, the low 32 bits
    Kernel,
    /// All 64 bits, as filters compare them
    Filter,
}

/// The filters as functions.
pub(crate) struct Functions {
    pub(crate) store: Store,
    pub(crate) a: Func,
    pub(crate) b: Func,
    arguments: Arguments,
    /// The functions of all bits of arguments.
    whole: [Func; 2],
}

impl Functions {
    /// Builds the MTBDDs of two filters.
    fn new(a: &SourceStack, b: &SourceStack, arguments: Arguments) -> Result<Functions> {
        let mut store = Store::default();
        let (a, b) = (a.diagram(&mut store)?, b.diagram(&mut store)?);
        Ok(Functions { store, a, b, arguments, whole: [a, b] })
    }

    /// Makes functions of the bits of arguments that count.
    fn read_arguments(&mut self) -> Result<()> {
        self.whole = [self.a, self.b];
        let arguments = self.arguments;
        for func in [&mut self.a, &mut self.b] {
            let read = arguments.read(&mut self.store, *func);
            *func = read.map_err(|error| match error {
                DiagramError::UNDECIDED => {
                    let what = "a filter compares bits of an argument that the kernel ignores with other words, so it is not \
                                decided what it allows for those that the kernel reads";
                    Failure::new(what).help("--arguments filter compares all bits")
                }
                _ => Failure::new(error.to_string()),
            })?;
        }
        Ok(())
    }

    /// The functions of the bits that the kernel reads; `None` if they exceed the budget.
    pub(crate) fn as_the_kernel_reads(&mut self) -> Option<[Func; 2]> {
        let [a, b] = self.whole;
        let mut read = |func| Arguments::Kernel.read(&mut self.store, func).ok();
        Some([read(a)?, read(b)?])
    }

    /// The functions of all bits.
    pub(crate) fn whole(&self) -> [Func; 2] {
        self.whole
    }

    /// Which bits of arguments count.
    pub(crate) fn arguments(&self) -> Arguments {
        self.arguments
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
        let of_arch = query::restrict(store, func, Word::ARCH, *token)?;
        let of_call = query::restrict(store, of_arch, Word::NR, *nr)?;
        let others = query::restrict(store, result, Word::ARCH, *token)?;
        let with_call = store.split(Word::NR, Split::Equal(*nr), of_call, others)?;
        result = store.split(Word::ARCH, Split::Equal(*token), with_call, result)?;
    }
    Ok(result)
}

impl ComparisonArgs {
    /// The options that decide whether conditions of a profile hold.
    pub(crate) fn conditions(&self) -> String {
        self.reading.conditions()
    }

    /// Reads the filters. Prints warnings.
    pub(crate) fn read(&self) -> Result<(SourceStack, SourceStack)> {
        let (a, b) = (Source::parse(&self.a)?, Source::parse(&self.b)?);
        let (of_a, of_b) = (self.of_a.own(), self.of_b.own());
        let own = [(OptionsOfA::SUFFIX, &of_a), (OptionsOfB::SUFFIX, &of_b)];
        Source::read_both([&a, &b], &self.reading, own)
    }

    /// As [`ComparisonArgs::read`], but also reads two socket filters.
    pub(crate) fn read_any(&self) -> Result<AnyBoth> {
        let (a, b) = (Source::parse(&self.a)?, Source::parse(&self.b)?);
        let (of_a, of_b) = (self.of_a.own(), self.of_b.own());
        let own = [(OptionsOfA::SUFFIX, &of_a), (OptionsOfB::SUFFIX, &of_b)];
        Source::read_any_both([&a, &b], &self.reading, own)
    }

    /// The format of the report.
    pub(crate) fn format(&self) -> TextFormat {
        self.format
    }

    /// Refuses syscalls, and warns about options that have no effect on socket filters.
    pub(crate) fn check_packets(&self) -> Result<()> {
        if let [call, ..] = self.calls.as_slice() {
            let message =
                format!("{call}: these are socket filters, which take packets, not syscalls");
            return Err(Failure::new(message).help("omit the syscalls"));
        }
        let given = [
            ("--arguments", self.gives_arguments()),
            ("--context", self.context > 0),
            ("--max", self.max.is_some()),
            ("--all", self.all),
        ];
        for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            report::warn(
                format!("{option} has no effect: socket filters take packets, not syscalls"),
                "omit it",
            );
        }
        Ok(())
    }

    /// Whether only some syscalls are compared.
    pub(crate) fn is_about_some(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The filters as functions of the bits that count, by default these; equal for syscalls that are not compared.
    pub(crate) fn functions(
        &self,
        a: &SourceStack,
        b: &SourceStack,
        arguments: Arguments,
    ) -> Result<Functions> {
        let arguments = match self.arguments {
            Some(ArgumentsArg::Kernel) => Arguments::Kernel,
            Some(ArgumentsArg::Filter) => Arguments::Filter,
            None => arguments,
        };
        let mut functions = Functions::new(a, b, arguments)?;
        if self.is_about_some() {
            functions.keep_only(&arches_of(a, b), &self.calls)?;
        }
        functions.read_arguments()?;
        Ok(functions)
    }

    /// Whether the bits of arguments that count are given.
    pub(crate) fn gives_arguments(&self) -> bool {
        self.arguments.is_some()
    }

    /// The filter that was read for some ABIs only (--arch), these ABIs, and the other filter, a program, which covers
    /// what its instructions do.
    fn narrowed<'s>(&self, filters: [&'s SourceStack; 2]) -> Option<Narrowed<'s>> {
        let given = [self.of_a.own(), self.of_b.own()]
            .map(|own| if own.arch.is_empty() { self.reading.arch.clone() } else { own.arch });
        let is_profile = filters.map(|stack| stack.filters.iter().all(SourceFilter::is_profile));
        let [a, b] = filters;
        let [of_a, of_b] = given;
        match is_profile {
            [true, false] if !of_a.is_empty() => {
                Some(Narrowed { narrow: a, arches: of_a, other: b })
            }
            [false, true] if !of_b.is_empty() => {
                Some(Narrowed { narrow: b, arches: of_b, other: a })
            }
            _ => None,
        }
    }

    /// Prints the differences, in JSON with whether there are none, each with its key. Returns the exit
    /// status.
    pub(crate) fn print(
        &self,
        filters: [&SourceStack; 2],
        functions: &Functions,
        (none_key, is_none): (&'static str, bool),
        (key, all): (&'static str, Vec<Difference>),
        titles: Titles,
        Remarks { remark, fields: more }: Remarks,
    ) -> Result<u8> {
        let is_text = self.format == TextFormat::Text;
        let narrowed = self.narrowed(filters).filter(|_| is_text && !self.all);
        let (elsewhere, all) = match &narrowed {
            Some(narrowed) => all.into_iter().partition(|one| narrowed.is_elsewhere(one)),
            None => (Vec::new(), all),
        };
        let is_capped = self.format != TextFormat::Json && !self.all;
        let max = self.max.or_else(|| is_capped.then_some(MAX_GROUPS));
        let differences = Differences::new(all, native_arch().ok(), max);
        // Conditions are those that the filters have.
        let roots = match titles {
            Titles::Excess => functions.whole,
            Titles::Changes => [functions.a, functions.b],
        };
        let compared = Compared::new(&functions.store, roots, &differences);
        let [a, b] = filters.map(|filter| filter.name.as_str());
        let names = [header(a, &self.of_a.own()), header(b, &self.of_b.own())];
        if self.context > 0 && self.format != TextFormat::Text {
            report::warn("--context has an effect on text only", "omit it");
        }
        // Otherwise the sentences below would say too much.
        let compared_only = self
            .is_about_some()
            .then(|| format!("only these syscalls are compared: {}", self.calls.join(", ")));
        let mut remarks: Vec<String> = compared_only.into_iter().chain(remark).collect();
        remarks.extend(narrowed.and_then(|narrowed| narrowed.remark(&elsewhere)));
        let text = match self.format {
            TextFormat::Json => {
                let arguments = functions.arguments.name();
                let mut fields = vec![(none_key, is_none.into()), ("arguments", arguments.into())];
                fields.extend(more);
                fields.extend(differences.fields(key, &compared));
                format!("{}\n", Json::Object(fields))
            }
            TextFormat::Markdown => {
                let is_about_some = self.is_about_some();
                differences::markdown(
                    &differences,
                    &names,
                    &compared,
                    titles,
                    is_none,
                    is_about_some,
                    &remarks,
                )
            }
            TextFormat::Text if is_none => {
                let [a, b] = names.each_ref().map(|name| printable(name));
                let of_these = if self.is_about_some() { ", for these syscalls" } else { "" };
                match titles {
                    Titles::Changes => format!("{a} and {b} are equivalent{of_these}\n"),
                    Titles::Excess => format!("{a} allows nothing that {b} does not{of_these}\n"),
                }
            }
            TextFormat::Text => {
                let all = self.all || self.max.is_some();
                let shown = Shown { context: self.context, titles, all };
                differences::text(&differences, &names, &compared, shown, &remarks)
            }
        };
        output::print(&text)?;
        Ok(u8::from(!is_none))
    }
}

/// What is said beside differences.
#[derive(Default)]
pub(crate) struct Remarks {
    /// In text and Markdown.
    pub(crate) remark: Option<String>,
    /// In JSON.
    pub(crate) fields: Vec<(&'static str, Json)>,
}

/// A filter that was read for some ABIs only, and a program, which may cover others.
struct Narrowed<'s> {
    narrow: &'s SourceStack,
    arches: Vec<Arch>,
    other: &'s SourceStack,
}

impl Narrowed<'_> {
    /// Whether a difference is about an ABI for which the filter was not read.
    fn is_elsewhere(&self, difference: &Difference) -> bool {
        let data = &difference.data;
        // A number that neither x86-64 nor x32 has is treated as a number of both.
        let abis = match data.nr >= X32_SYSCALL_BIT {
            true => Arch::with_token(data.arch).collect(),
            false => Vec::from_iter(syscall::arch_of(data)),
        };
        abis.iter().any(|arch| !self.arches.contains(arch))
    }

    /// A sentence about these differences.
    fn remark(&self, elsewhere: &[Difference]) -> Option<String> {
        let mut others: Vec<&str> = Vec::new();
        let tokens = elsewhere.iter().flat_map(|one| Arch::with_token(one.data.arch));
        for arch in tokens.filter(|arch| !self.arches.contains(arch)) {
            if !others.contains(&arch.name()) {
                others.push(arch.name());
            }
        }
        if others.is_empty() {
            return None;
        }
        let read: Vec<&str> = self.arches.iter().map(|arch| arch.name()).collect();
        Some(format!(
            "{} also decides about {}, for which {} was not read (--arch {}); --all lists the differences there",
            printable(&self.other.name),
            others.join(", "),
            printable(&self.narrow.name),
            read.join(" --arch ")
        ))
    }
}

/// The name of a filter with the options that are only for it.
fn header(name: &str, own: &SourceOptions) -> String {
    let words = [name.to_owned()].into_iter().chain(own.arguments());
    words.collect::<Vec<_>>().join(" ")
}

/// The architectures that one of the filters supports.
fn arches_of(a: &SourceStack, b: &SourceStack) -> Vec<Arch> {
    let mut arches = a.arches();
    for arch in b.arches() {
        if !arches.contains(&arch) {
            arches.push(arch);
        }
    }
    arches
}

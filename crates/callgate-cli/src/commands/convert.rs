//! `callgate convert`: writes a filter as a policy in another language.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use callgate::SeccompData;
use callgate::convert::{
    ConvertError, Converted, Example, ListForm, Loss, UNNAMED, convert_diagram,
};
use callgate_core::diagram::{Func, Store};
use callgate_formats::built_in;
use callgate_formats::languages::LanguageId;
use clap::ValueHint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::advice;
use crate::options::{Format, PROMPT, SourceOptions};
use crate::output;
use crate::report::{self, Failure, Result};
use crate::source::{BUILT_IN, Source, SourceStack, warn_about_conditions};
use callgate_formats::diagnostics::quote::shorten;
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// The exit status if the target cannot express the filter and nothing was written.
const INEXPRESSIBLE: u8 = 1;

/// Write a filter as a policy in another language and prove that both are equivalent
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The source can be anything that means a filter, also a program, a unit or a
running process. The policy is read back and must have exactly the meaning of
the source, for all architectures, syscall numbers and arguments; otherwise,
nothing is written.

If the target cannot express the filter, prints the reasons, each with a syscall
as an example, and exits with status 1. With --closest, it writes the nearest
policy that never permits more than the source, prints what is lost and exits
with status 0. Denials count as equal: KILL may become ERRNO.

The rule that runc adds to profiles (ENOSYS for numbers above the largest named
one) is not part of a profile, so it is neither written nor lost. A note shows
where the runtime of the policy does something else than that of the source.

--list writes an allowlist as a denylist, or the reverse: one of the two may be
much shorter. Both do the same with all syscalls that Callgate knows, but not
with those that newer kernels add.

Examples:
  callgate convert profile.json --to kafel -o nsjail.policy
  callgate convert pid:1234 --to docker -o profile.json
  callgate convert foo.service --to podman --closest
  callgate convert profile.json --arch x86_64 --to docker --list denied
  callgate convert --original -o my-profile.json
  callgate convert filter.bpf --to systemd --closest -o foo.service.d/a.conf

Exit status: 0 the policy was written: it has the meaning of the source, or with
--closest what is printed as lost, 1 the target cannot express the filter, and
nothing was written, 2 error. A script that uses --closest finds `exact` in the
report of --format json.")]
pub(crate) struct ConvertArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    /// The language of the policy
    #[arg(long, value_name = "LANGUAGE", value_parser = target_parser(), required_unless_present = "original")]
    to: Option<LanguageId>,

    /// Write the text of a built-in profile unchanged: in Docker's format, with conditions for capabilities and
    /// architectures; of container-default with a reason for each group of syscalls
    #[arg(long, conflicts_with_all = ["to", "closest", "list", "format", "name"])]
    original: bool,

    /// Write the policy to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Write the nearest stricter policy if the target cannot express the filter, and print what is lost
    #[arg(long)]
    closest: bool,

    /// Write a list of what is allowed or of what is denied; the other numbers, also those of newer kernels, get ENOSYS
    /// or are allowed
    #[arg(long, value_name = "WHAT", value_parser = list_parser())]
    list: Option<ListForm>,

    /// The format of the report; with -o, JSON is printed on standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// The name of the thread (firecracker) or of the resource (k8s)
    ///
    /// Default: main, and the name of the output file or converted-profile.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    reading: SourceOptions,
}

/// Parses the name of a language; help, completions and messages list all of them.
pub(super) fn target_parser() -> impl TypedValueParser<Value = LanguageId> {
    let names = PossibleValuesParser::new(
        LanguageId::written().map(|id| PossibleValue::new(id.name()).aliases(id.alias())),
    );
    names.try_map(|name| name.parse::<LanguageId>())
}

fn list_parser() -> impl TypedValueParser<Value = ListForm> {
    let names = PossibleValuesParser::new(ListForm::ALL.map(ListForm::name));
    let named = |name: String| ListForm::ALL.into_iter().find(|form| form.name() == name);
    names.try_map(move |name| named(name).ok_or("unknown form"))
}

pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    let Some(to) = args.to else {
        return original(args);
    };
    let reading = args.reading.with_statements();
    let stack = Source::parse(&args.source)?.read_to_convert(&reading, to)?;
    let writing = Writing {
        to,
        closest: args.closest,
        list: args.list,
        name: args.name.as_deref(),
        output: args.output.as_deref(),
        format: args.format,
        reading: &args.reading,
    };
    writing.write(&stack)
}

/// How filters are written as a policy.
pub(crate) struct Writing<'a> {
    pub(crate) to: LanguageId,
    pub(crate) closest: bool,
    pub(crate) list: Option<ListForm>,
    /// The name of what is written, where the language has one.
    pub(crate) name: Option<&'a str>,
    pub(crate) output: Option<&'a Path>,
    pub(crate) format: Format,
    /// How the policy is read back.
    pub(crate) reading: &'a SourceOptions,
}

impl Writing<'_> {
    /// Writes filters, if the policy that is read back has their meaning. Returns the exit status.
    pub(crate) fn write(&self, stack: &SourceStack) -> Result<u8> {
        let to = self.to;
        // Of a combination, its parts were warned about when they were read.
        let conditional = stack.filters.iter().filter(|filter| filter.is_conditional());
        conditional.for_each(|filter| warn_about_conditions(&filter.name));
        let mut store = Store::new(PROMPT);
        let mut source = report::warning(|warnings| stack.to_convert(&mut store, warnings))?;
        let mut numbers = None;
        if let Some(form) = self.list {
            let listed = form.apply(&mut store, source.own, &stack.arches());
            let listed = listed.map_err(|error| Failure::about(&stack.name, error.to_string()))?;
            numbers = (listed != source.own).then_some([source.own, listed]);
            source = listed.into();
        }
        let mut options = self.reading.to_convert(to)?;
        options.arches = stack.arches();
        options.closest = self.closest;
        options.flags = stack.flags();
        options.listener = stack.listener().cloned();
        options.name = self.name()?;
        let converted = match convert_diagram(&mut store, source, &options) {
            Ok(converted) => converted,
            Err(error) => return self.refuse(stack, &error),
        };
        if let Some(lists) = numbers {
            warn_about_numbers(stack, &store, lists, converted.losses.is_empty());
        }
        let output = self.output.filter(|path| path.as_os_str() != "-");
        match output {
            Some(path) => output::write_file(path, converted.text.as_bytes())?,
            None => output::print(&converted.text)?,
        }
        match (self.format, output) {
            (Format::Json, Some(_)) => output::print(&json(to, Some(&converted), &[]))?,
            (Format::Json, None) => report::note(&json(to, Some(&converted), &[])),
            (Format::Text, _) => {
                if !converted.losses.is_empty() {
                    let text = format!("{to} cannot express all of the filter. Stricter now:\n");
                    report::note(&(text + &losses(&converted.losses)));
                }
                if !converted.notes.is_empty() {
                    report::note(&format!("note:\n{}", losses(&converted.notes)));
                }
            }
        }
        Ok(0)
    }

    /// The name of what is written, where the target has one.
    fn name(&self) -> Result<Option<String>> {
        let to = self.to;
        let naming = |id: LanguageId| id.writer().and_then(|writer| writer.naming);
        match (self.name, naming(to)) {
            (Some(_), None) => {
                let named = |id: LanguageId| Some(format!("the {} of {id}", naming(id)?.what));
                let named: Vec<String> = LanguageId::written().filter_map(named).collect();
                Err(Failure::new(format!("--name has no meaning for {to}"))
                    .help(format!("it names {}", named.join(", or "))))
            }
            (Some(name), Some(naming)) if !(naming.is_valid)(name) => {
                let what = naming.what;
                Err(Failure::new(format!("`{}` is not the name of a {what}", shorten(name)))
                    .help(naming.rules))
            }
            (Some(name), Some(_)) => Ok(Some(name.to_owned())),
            (None, Some(naming)) if naming.is_of_file => {
                let stem = self.output.and_then(Path::file_stem).and_then(OsStr::to_str);
                Ok(stem.filter(|stem| (naming.is_valid)(stem)).map(str::to_owned))
            }
            (None, _) => Ok(None),
        }
    }

    /// Reports why there is no policy.
    fn refuse(&self, stack: &SourceStack, error: &ConvertError) -> Result<u8> {
        let to = self.to;
        if error.losses().is_empty() {
            return Err(Failure::about(&stack.name, error.to_string())
                .help(advice::help_or(error.advice(), error.help())));
        }
        match self.format {
            Format::Json => output::print(&json(to, None, error.losses()))?,
            Format::Text => {
                let text = format!("{to} cannot express this filter; nothing was written:\n");
                report::note(&(text + &losses(error.losses())));
                let help = advice::help_or(error.advice(), error.help());
                report::note(&format!("help: {help}\n"));
            }
        }
        Ok(INEXPRESSIBLE)
    }
}

/// Says what a list of the other form does with numbers without a name.
fn warn_about_numbers(
    stack: &SourceStack,
    store: &Store,
    [before, after]: [Func; 2],
    is_exact: bool,
) {
    let start = stack.arches().first().map_or_else(SeccompData::default, |arch| SeccompData {
        arch: arch.token(),
        nr: arch.first_number() + UNNAMED,
        ..SeccompData::default()
    });
    let Ok(Some(data)) = store.witness(before, after, start) else { return };
    let [old, new] = [before, after].map(|func| store.evaluate(func, &data));
    let (Ok(old), Ok(new)) = (old, new) else { return };
    let call = syscall::show(syscall::arch_of(&data), &data);
    report::warn_about(
        &stack.name,
        format!("the list gives numbers without a name, such as {call}, {new} instead of {old}"),
        match is_exact {
            true => "all syscalls with a name keep their verdicts, which is proved",
            false => "other syscalls keep their verdicts, but for those below",
        },
    );
}

/// Writes a built-in profile unchanged.
fn original(args: &ConvertArgs) -> Result<u8> {
    let Some(found) = args.source.to_str().and_then(built_in) else {
        return Err(Failure::new("--original is for built-in profiles, other sources are files")
            .help("omit the source, or convert it with --to LANGUAGE"));
    };
    let text = found?.text;
    match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
        Some(path) => output::write_file(path, text.as_bytes())?,
        None => output::print(&text)?,
    }
    Ok(0)
}

fn losses(losses: &[Loss]) -> String {
    let mut text = String::new();
    for loss in losses {
        let names = loss.names();
        let mut reason = loss.why.clone();
        if let Some(advice) = loss.advice().and_then(|advice| advice::words(&advice)) {
            let _ = write!(reason, " ({advice})");
        }
        if names.len() > 1 {
            let _ = write!(reason, " ({} syscalls)", names.len());
        }
        text.push_str("- ");
        output::wrap(&mut text, &reason, 2, 2);
        if let Some(Example { data, source, written }) = &loss.example {
            let arch = syscall::arch_of(data);
            let (name, call) = (syscall::arch_name(arch, data.arch), syscall::show(arch, data));
            let _ = writeln!(text, "    {name} {call}: {source} -> {written}");
        }
        // The example names a single one.
        if names.len() > 1 || !names.is_empty() && loss.example.is_none() {
            text.push_str("    ");
            output::wrap(&mut text, &names.join(" "), 4, 4);
        }
    }
    text
}

fn json(target: LanguageId, converted: Option<&Converted>, refused: &[Loss]) -> String {
    let one = |loss: &Loss| {
        let data = loss.example.map(|example| example.data);
        let fields = |data: SeccompData| syscall::fields(syscall::arch_of(&data), &data);
        Json::Object(vec![
            ("why", loss.why.clone().into()),
            ("syscalls", Json::array(loss.names())),
            ("source", loss.example.map(|example| example.source.to_string()).into()),
            ("written", loss.example.map(|example| example.written.to_string()).into()),
            ("example", data.map(|data| Json::Object(fields(data))).into()),
        ])
    };
    let losses = converted.map_or(refused, |converted| &converted.losses);
    let notes = converted.map_or(&[][..], |converted| &converted.notes);
    let arches = converted.map_or(&[][..], |converted| &converted.arches);
    let value = Json::Object(vec![
        ("to", target.name().into()),
        ("written", converted.is_some().into()),
        ("exact", losses.is_empty().into()),
        ("arches", Json::array(arches.iter().map(|arch| arch.name()))),
        ("losses", Json::array(losses.iter().map(one))),
        ("notes", Json::array(notes.iter().map(one))),
    ]);
    format!("{value}\n")
}

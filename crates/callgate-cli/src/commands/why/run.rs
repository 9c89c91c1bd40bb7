//! Tells what is asked, reads the source and prints the reasons.

use std::ffi::OsString;
use std::io::{IsTerminal, stdin};
use std::path::Path;

use super::answer::Answer;
use super::args::{WhyArgs, missing_call};
use super::change::advise;
use super::log::Log;
use super::patch::write_patch;
use super::read::Read;
use super::which::{self, Word, without_key};
use super::{json, log, text};

use crate::any_values::depending;
use crate::called::{called, is_call};
use crate::options::Format;
use crate::output;
use crate::report::{Failure, Result, muted};
use crate::source::{Combine, Place, Source, SourceFilter};
use callgate_requests::explanation::outcome_json;
use callgate_requests::json::Json;

pub(crate) fn run(args: &WhyArgs) -> Result<u8> {
    let reading = args.reading.with_statements();
    let (source, call) = match question(args)? {
        Question::Log(None, log) => {
            let answer = log::run_alone(args, &log, &reading);
            // A filter alone is no log, and the syscall is missing.
            let is_filter = || args.source.as_ref().is_some_and(|source| is_filter(source, args));
            return answer.map_err(|error| if is_filter() { missing_call() } else { error });
        }
        Question::Log(Some(source), log) => {
            return log::run(args, Source::parse(source)?.load()?, &log, &reading);
        }
        Question::Alone(word) => {
            args.selection.only_of_logs()?;
            return which::run(args, word, &reading);
        }
        Question::Call(source, call) => (Source::parse(source)?.load()?, call),
    };
    args.selection.only_of_logs()?;
    let read = Read::new(source, &reading)?;
    let stack = &read.stack;
    stack.filters.iter().try_for_each(SourceFilter::check_values)?;
    let format = args.format.metrics().err().ok_or_else(|| {
        Failure::new("only the denials of a log can be metrics")
            .help("give --from LOG, or use --format text or json")
    })?;
    let called = called(call, &args.args, None, &reading, &stack.arches())?;
    let depending = depending(&called, |store| stack.diagram(store))?;
    // Where the verdict depends on what is not given, the reasons are those of a call that is denied.
    let data = depending.as_ref().map_or(called.data, |depending| depending.example);
    let arch = called.arch;
    let answer = Answer::new(stack, arch, data);
    let advice = (!answer.verdict.permits())
        .then(|| advise(&read, arch, &data, called.given.clone(), &reading));
    let mut missing = None;
    if let Some(path) = &args.patch {
        match advice.as_ref().map(|advice| &advice.change) {
            Some(Ok(change)) => write_patch(path, Some(&change.patch))?,
            Some(Err(by_hand)) => missing = Some(by_hand.clone()),
            None => write_patch(path, None)?,
        }
    }
    output::print(&match format {
        Format::Text => {
            let source = args.source.as_ref().map_or("SOURCE".into(), |one| one.to_string_lossy());
            let advice = advice.as_ref().map(|one| text::advice(one, true, &source));
            let executed =
                text::executed(&answer, answer.verdict.permits() && read.blocks_nothing());
            let mut text = String::new();
            for line in depending.iter().flat_map(|depending| depending.text(&called)) {
                output::wrap(&mut text, &line, 0, 2);
            }
            if depending.is_some() {
                text.push_str("for example:\n");
            }
            // The example has values.
            let any = if depending.is_some() { &[] } else { called.any.as_slice() };
            text.push_str(&(text::answer(&answer, any) + &executed));
            if let Some(assumed) = read.source.assumed(stack, &reading) {
                output::wrap(&mut text, &assumed, 0, 2);
            }
            text + &advice.unwrap_or_default()
        }
        Format::Json => {
            let mut fields = json::answer_fields(&answer, advice.as_ref());
            let assumed = read.source.assumed(stack, &reading);
            fields.push(("assumed", assumed.as_deref().map_or(Json::Null, Json::from)));
            if !called.any.is_empty() {
                let outcome = depending.as_ref().map(|depending| outcome_json(&depending.outcome));
                fields.extend([
                    ("any", Json::array(called.any.iter().map(|index| u32::from(*index)))),
                    ("outcome", outcome.into()),
                ]);
            }
            format!("{}\n", Json::Object(fields))
        }
    })?;
    match missing {
        None => Ok(0),
        Some(by_hand) => Err(Failure::new("there is no patch to write").help(by_hand)),
    }
}

/// What is asked.
enum Question<'a> {
    /// The denials of a log, with the filter if it is given.
    Log(Option<&'a OsString>, Log<'a>),
    /// The verdict of a filter about a syscall.
    Call(&'a OsString, &'a str),
    /// Which syscall a name or a number is.
    Alone(Word),
}

/// What the words ask. A log needs no option where nothing else can be meant: a line of it in place of the syscall or of the source,
/// and a file or standard input alone.
fn question(args: &WhyArgs) -> Result<Question<'_>> {
    let source = args.source.as_ref();
    if let Some(path) = &args.from {
        return Ok(Question::Log(source, Log::At(Place::of_path(path))));
    }
    match (source, args.call.as_deref().map(without_key)) {
        (Some(source), Some(call)) if args.args.is_empty() && is_line(call) => {
            Ok(Question::Log(Some(source), Log::Lines(call)))
        }
        (Some(source), Some(call)) => Ok(Question::Call(source, call)),
        (Some(source), None) => {
            let (path, line) = (Path::new(source), source.to_str());
            let word = line.filter(|_| !path.exists()).map(without_key).and_then(Word::parse);
            if let Some(word) = word {
                return Ok(Question::Alone(word));
            }
            match line.filter(|line| is_line(line) && !path.exists()) {
                Some(line) => Ok(Question::Log(None, Log::Lines(line))),
                None if source == "-" => Ok(Question::Log(None, Log::At(Place::Stdin))),
                None if is_missing_file(path) || path.is_file() => {
                    Ok(Question::Log(None, Log::At(Place::of_path(path))))
                }
                None => Err(missing_call()),
            }
        }
        (None, _) if stdin().is_terminal() => Err(missing_call()),
        (None, _) => Ok(Question::Log(None, Log::At(Place::Stdin))),
    }
}

/// Whether a word can only be the name of a file, which does not exist.
fn is_missing_file(path: &Path) -> bool {
    let is_of_log = path.extension().is_some_and(|suffix| suffix == "log" || suffix == "txt");
    !path.exists() && (is_of_log || path.components().count() > 1)
}

/// Whether a file is a filter and not a log.
fn is_filter(source: &OsString, args: &WhyArgs) -> bool {
    let read = || Source::parse(source)?.load()?.read(&args.reading);
    muted(read).is_ok()
}

/// Whether words are a line of a log and not a syscall, which may have its arguments in parentheses.
fn is_line(words: &str) -> bool {
    (words.contains([' ', '=']) || words.starts_with('{')) && !is_call(words)
}

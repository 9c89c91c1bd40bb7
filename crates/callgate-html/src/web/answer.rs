//! The answer to a request, and what the page offers to choose.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::text::has_marks;
use callgate_requests::json::Json;
use callgate_requests::source::{
    Message, Messages, ProgramForm, SourceContent, SourceFormat, SourceText,
};

use super::about::{about, constants};
use super::analysis::{Analysis, Figures};
use super::messages;
use super::request::{Asked, View, parse};
use super::tested::Tested;
use super::views::{self, Shown};
use crate::Markup;

/// The maximum size of a request in bytes.
pub const MAX_REQUEST: usize = 8 << 20;

/// Answers a request. Both are JSON; the [crate] documents them.
pub fn answer(request: &str) -> String {
    let mut warnings = Messages::new();
    let fields = match answered(request, &mut warnings) {
        Ok(Answer::Names(fields)) => fields,
        Ok(Answer::Shown(shown)) => of_shown(*shown, &warnings),
        Err(Refused { errors, is_log }) => {
            let mut fields = of_errors(warnings.into_iter().chain(errors).collect());
            fields.push(("log", is_log.into()));
            fields
        }
    };
    format!("{}\n", Json::Object(fields))
}

enum Answer {
    Names(Vec<(&'static str, Json)>),
    /// A view, with the figures and tests of the filter, if there is one.
    Shown(Box<(Option<(Figures, Tested)>, Shown)>),
}

/// Why there is no answer.
struct Refused {
    errors: Messages,
    /// Whether the text is a log with denials instead of a filter.
    is_log: bool,
}

impl From<Messages> for Refused {
    fn from(errors: Messages) -> Refused {
        Refused { errors, is_log: false }
    }
}

fn answered(request: &str, warnings: &mut Messages) -> Result<Answer, Refused> {
    let of_request = |errors: Vec<Diagnostic>| -> Messages {
        let message = Message::of_request;
        errors.into_iter().map(message).collect()
    };
    if request.len() > MAX_REQUEST {
        let given = request.len();
        let message = format!("the request has {given} bytes, the maximum is {MAX_REQUEST}");
        return Err(of_request(vec![Diagnostic::error(None, message)]).into());
    }
    let (view, source, tests) = match parse(request).map_err(of_request)? {
        Asked::About => return Ok(Answer::Names(about())),
        Asked::Constants => return Ok(Answer::Names(constants())),
        Asked::Log(log, arch) => {
            return Ok(Answer::Shown(Box::new((None, views::denials(&log, arch)))));
        }
        Asked::Filter(view, source, tests) => (view, source, tests),
    };
    let analysis = Analysis::new(&source, warnings).map_err(|errors| {
        let is_log = match &source.content {
            SourceContent::Text(text) => {
                views::is_log(text, source.reading.machine, is_unknown(&source, text))
            }
            _ => false,
        };
        Refused { errors, is_log }
    });
    let mut analysis = analysis?;
    let figures = Figures::of(&analysis, warnings);
    let tested = Tested::of(&mut analysis, &tests);
    let shown = match view {
        View::Explanation => views::explanation(&analysis),
        View::Findings => views::findings(&figures, analysis),
        View::Program => views::program(&analysis),
        View::Compare(before) => views::compare(&mut analysis, &before, warnings)?,
        View::Convert { to, closest } => views::convert(&mut analysis, to, closest)?,
        View::Simulate(call) => views::simulate(analysis, &call)?,
        View::Denied(log) => views::denied(analysis, &log)?,
    };
    Ok(Answer::Shown(Box::new((Some((figures, tested)), shown))))
}

/// Whether the format of a text was neither given nor detected.
fn is_unknown(source: &SourceText, text: &str) -> bool {
    let rest = SourceFormat::Program(ProgramForm::Text);
    source.format.is_none() && source.format_of(text.as_bytes()) == rest && !has_marks(text)
}

fn of_shown(
    (filter, shown): (Option<(Figures, Tested)>, Shown),
    warnings: &Messages,
) -> Vec<(&'static str, Json)> {
    let (figures, tested) = filter.unzip();
    let of_file = |(name, text): &(String, String)| {
        Json::Object(vec![("name", name.as_str().into()), ("text", text.as_str().into())])
    };
    let mut body = Markup::new();
    shown.sections.iter().for_each(|section| body.append(&section.markup()));
    let mut status = match (shown.status.as_str(), &figures) {
        ("", Some(figures)) => figures.status(),
        (status, _) => status.to_owned(),
    };
    let of_tests = tested.as_ref().map(Tested::status).filter(|text| !text.is_empty());
    status.extend(of_tests.into_iter().flat_map(|text| [" ".to_owned(), text]));
    let head = figures.as_ref().map(|figures| figures.markup().into_string()).unwrap_or_default();
    let findings = figures.as_ref().and_then(|figures| figures.findings.as_ref().ok());
    let of_findings = findings
        .into_iter()
        .flatten()
        .map(|found| mark(&found.position, found.check.level().name(), &found.title));
    let marks =
        messages::placed(warnings).map(|(place, severity, text)| mark(&place, severity, text));
    vec![
        ("ok", true.into()),
        ("status", status.into()),
        ("head", head.into()),
        ("messages", messages::markup(warnings).into_string().into()),
        ("body", without_styles(body).into()),
        ("file", shown.file.as_ref().map(of_file).unwrap_or(Json::Null)),
        ("changes", Json::array(shown.changes.iter().map(String::as_str))),
        ("marks", Json::array(marks.chain(of_findings))),
        ("tests", tested.as_ref().map(Tested::json).into()),
        ("paths", shown.paths.unwrap_or(Json::Null)),
        ("rules", shown.rules.unwrap_or(Json::Null)),
        ("lines", shown.lines.unwrap_or(Json::Null)),
    ]
}

fn of_errors(errors: Messages) -> Vec<(&'static str, Json)> {
    let marks =
        messages::placed(&errors).map(|(place, severity, text)| mark(&place, severity, text));
    let marks = Json::array(marks);
    vec![
        ("ok", false.into()),
        ("status", messages::status(&errors).into()),
        ("messages", messages::markup(&errors).into_string().into()),
        ("marks", marks),
    ]
}

/// A place in a text that the answer cites, for the editor.
fn mark(place: &str, severity: &str, text: &str) -> Json {
    Json::Object(vec![
        ("place", place.into()),
        ("severity", if severity == "note" { "info" } else { severity }.into()),
        ("text", text.into()),
    ])
}

/// The page's policy forbids inline styles, of which there is one: the width of a tree. The page sets it by its own
/// means. Quotes in texts are escaped, so that no text can contain this.
fn without_styles(body: Markup) -> String {
    body.into_string().replace(" style=\"--width: ", " data-width=\"")
}

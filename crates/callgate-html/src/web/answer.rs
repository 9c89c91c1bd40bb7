//! The answer to a request, and what the page offers to choose.

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::Arch;
use callgate_formats::CONTAINER_DEFAULT;
use callgate_formats::languages::LanguageId;
use callgate_requests::json::Json;
use callgate_requests::source::{Message, Messages, SourceFormat};

use super::analysis::{Analysis, Figures};
use super::messages;
use super::request::{Asked, View, Written, parse};
use super::views::{self, Shown};
use crate::Markup;

/// The maximum size of a request in bytes.
pub const MAX_REQUEST: usize = 8 << 20;

/// Answers a request. Both are JSON; the [crate] documents them.
pub fn answer(request: &str) -> String {
    let mut warnings = Messages::new();
    let fields = match answered(request, &mut warnings) {
        Ok(Answer::About(fields)) => fields,
        Ok(Answer::Shown(shown)) => of_shown(&shown, &warnings),
        Err(errors) => of_errors(warnings.into_iter().chain(errors).collect()),
    };
    format!("{}\n", Json::Object(fields))
}

enum Answer {
    About(Vec<(&'static str, Json)>),
    Shown(Box<(Figures, Shown)>),
}

fn answered(request: &str, warnings: &mut Messages) -> Result<Answer, Messages> {
    let of_request = |errors: Vec<Diagnostic>| -> Messages {
        let message = Message::of_request;
        errors.into_iter().map(message).collect()
    };
    if request.len() > MAX_REQUEST {
        let given = request.len();
        let message = format!("the request has {given} bytes, the maximum is {MAX_REQUEST}");
        return Err(of_request(vec![Diagnostic::error(None, message)]));
    }
    let Asked { view, source } = parse(request).map_err(of_request)?;
    let Some(source) = source else { return Ok(Answer::About(about())) };
    let mut analysis = Analysis::new(&source, warnings)?;
    let figures = Figures::of(&analysis, warnings);
    let shown = match view {
        View::Explanation => views::explanation(&analysis),
        View::Findings => views::findings(&figures),
        View::Program => views::program(&analysis),
        View::Compare(before) => views::compare(&mut analysis, &before, warnings)?,
        View::Convert { to, closest } => views::convert(&mut analysis, to, closest)?,
        View::Simulate(call) => views::simulate(&analysis, &call)?,
    };
    Ok(Answer::Shown(Box::new((figures, shown))))
}

fn of_shown((figures, shown): &(Figures, Shown), warnings: &Messages) -> Vec<(&'static str, Json)> {
    let file = shown.file.as_ref().map(|(name, text)| {
        Json::Object(vec![("name", name.as_str().into()), ("text", text.as_str().into())])
    });
    let mut body = Markup::new();
    shown.sections.iter().for_each(|section| body.append(&section.markup()));
    let status = match shown.status.as_str() {
        "" => figures.status(),
        status => status.to_owned(),
    };
    vec![
        ("ok", true.into()),
        ("status", status.into()),
        ("head", figures.markup().into_string().into()),
        ("messages", messages::markup(warnings).into_string().into()),
        ("body", without_styles(body).into()),
        ("file", file.unwrap_or(Json::Null)),
    ]
}

fn of_errors(errors: Messages) -> Vec<(&'static str, Json)> {
    vec![
        ("ok", false.into()),
        ("status", messages::status(&errors).into()),
        ("messages", messages::markup(&errors).into_string().into()),
    ]
}

/// The page's policy forbids inline styles, of which there is one: the width of a tree. The page sets it by its own
/// means. Quotes in texts are escaped, so that no text can contain this.
fn without_styles(body: Markup) -> String {
    body.into_string().replace(" style=\"--width: ", " data-width=\"")
}

/// The fields of the answer: `version`; `arches`, `formats` and `targets`, lists of names; `code`, a list of objects with
/// `name` and `title`; `syscalls`, the names of all syscalls of x86-64; `example`, the text of the built-in profile.
pub(crate) fn about() -> Vec<(&'static str, Json)> {
    let is_text = |name: &&str| !matches!(*name, "bpf" | "socket");
    let formats = SourceFormat::all().map(SourceFormat::name).filter(is_text);
    let code = Written::CODE.iter().map(|(name, title, _)| {
        Json::Object(vec![("name", (*name).into()), ("title", (*title).into())])
    });
    let mut syscalls: Vec<&str> = Arch::X86_64.syscalls().map(|(_, name)| name).collect();
    syscalls.sort_unstable();
    vec![
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("arches", Json::array(Arch::ALL.iter().map(|arch| arch.name()))),
        ("formats", Json::array(formats)),
        ("targets", Json::array(LanguageId::written().map(LanguageId::name))),
        ("code", Json::array(code)),
        ("syscalls", Json::array(syscalls)),
        ("example", CONTAINER_DEFAULT.into()),
    ]
}

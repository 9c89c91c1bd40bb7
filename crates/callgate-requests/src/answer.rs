//! The answer to a request as JSON.

use callgate_bpf::diagnostic::{Diagnostic, Severity};

use crate::json::Json;
use crate::operations::run;
use crate::request::parse;
use crate::source::{Message, Messages};

/// The maximum size of a request in bytes.
pub const MAX_REQUEST: usize = 32 << 20;

/// Answers a request. Both are JSON; the [crate] documents them.
pub fn answer(request: &str) -> String {
    let mut warnings = Messages::new();
    let json = match result(request, &mut warnings) {
        Ok(result) => Json::Object(vec![
            ("result", result),
            ("warnings", Json::array(warnings.iter().map(message_json))),
        ]),
        Err(errors) => {
            let all = warnings.iter().chain(&errors).map(message_json);
            Json::Object(vec![("errors", Json::array(all))])
        }
    };
    format!("{json}\n")
}

/// The answer to a request whose bytes are not UTF-8 after this many of them.
pub fn not_utf8(valid: usize) -> String {
    let message = format!("the request is not UTF-8: byte {valid} does not continue the text");
    let errors = of_request(vec![Diagnostic::error(None, message)]);
    format!("{}\n", Json::Object(vec![("errors", Json::array(errors.iter().map(message_json)))]))
}

fn result(request: &str, warnings: &mut Messages) -> Result<Json, Messages> {
    if request.len() > MAX_REQUEST {
        let given = request.len();
        let message = format!("the request has {given} bytes, the maximum is {MAX_REQUEST}");
        return Err(of_request(vec![Diagnostic::error(None, message)]));
    }
    run(&parse(request).map_err(of_request)?, warnings)
}

fn of_request(diagnostics: Vec<Diagnostic>) -> Messages {
    diagnostics.into_iter().map(Message::of_request).collect()
}

fn message_json(message: &Message) -> Json {
    let Diagnostic { severity, position, message: text, help, advice: _, topic: _, syscalls: _ } =
        &message.diagnostic;
    let severity = match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    Json::Object(vec![
        ("severity", severity.into()),
        ("source", message.source.as_deref().into()),
        ("line", position.map(|position| position.line).into()),
        ("column", position.map(|position| position.column).into()),
        ("message", text.as_str().into()),
        ("help", help.as_str().into()),
    ])
}

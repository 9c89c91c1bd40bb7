//! Whether two socket filters are equal, or a packet that shows the difference.

use callgate::socket_filters::{Difference, compare};
use callgate_core::diagram::DiagramError;
use callgate_requests::json::Json;

use super::{packet_json, packet_text};
use crate::comparison::ComparisonArgs;
use crate::markdown;
use crate::options::{PROMPT, TextFormat};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::SocketFilter;
use crate::text::printable;

/// Compares two socket filters and prints a packet for which they differ. Returns the exit status.
pub(crate) fn diff(args: &ComparisonArgs, both: &(SocketFilter, SocketFilter)) -> Result<u8> {
    args.check_packets()?;
    let (a, b) = both;
    let difference = compare(&a.program, &b.program, PROMPT).map_err(|refused| {
        let name = if refused.filter == 0 { &a.name } else { &b.name };
        not_proved(name, refused.error)
    })?;
    output::print(&match args.format() {
        TextFormat::Text => difference.map_or(String::new(), |one| text([a, b], &one)),
        TextFormat::Markdown => markdown([a, b], difference.as_ref()),
        TextFormat::Json => format!("{}\n", json(difference.as_ref())),
    })?;
    Ok(u8::from(difference.is_some()))
}

/// The error about a filter whose function is not known.
pub(crate) fn not_proved(name: &str, error: DiagramError) -> Failure {
    let failure = Failure::about(name, error.to_string());
    match error.unmodelled_load() {
        Some(_) => failure.help(
            "`callgate simulate` runs it on packets; docs/reference/socket-filters.md says what is proved",
        ),
        None => failure,
    }
}

/// What a value means: `drops it (0)`.
pub(crate) fn result_text(value: u32) -> String {
    match value {
        0 => "drops it (returns 0)".to_owned(),
        1 => "keeps 1 byte (returns 1)".to_owned(),
        value => format!("keeps at most {value} bytes (returns {value})"),
    }
}

fn text([a, b]: [&SocketFilter; 2], difference: &Difference) -> String {
    format!(
        "A: {}\nB: {}\npacket of {}\n- {}\n+ {}\n",
        printable(&a.name),
        printable(&b.name),
        packet_text(&difference.packet),
        result_text(difference.a),
        result_text(difference.b)
    )
}

fn markdown([a, b]: [&SocketFilter; 2], difference: Option<&Difference>) -> String {
    let [a, b] = [a, b].map(|filter| markdown::code(&filter.name));
    match difference {
        None => format!("{a} and {b} return the same for every packet.\n"),
        Some(Difference { packet, a: of_a, b: of_b, .. }) => format!(
            "{a} and {b} differ for a packet of {}: {a} {}, {b} {}.\n",
            packet_text(packet),
            result_text(*of_a),
            result_text(*of_b)
        ),
    }
}

fn json(difference: Option<&Difference>) -> Json {
    let one = difference.map(|Difference { packet, a, b, .. }| {
        Json::Object(vec![("packet", packet_json(packet)), ("a", (*a).into()), ("b", (*b).into())])
    });
    Json::Object(vec![
        ("same", difference.is_none().into()),
        ("input", "packets".into()),
        ("difference", one.unwrap_or(Json::Null)),
    ])
}

//! The expectations of a file, and whether the filter meets them.

use std::fmt::Write;
use std::path::Path;

use callgate_core::diagram::Store;
use callgate_requests::expectations::{Checked, MAX_EXPECTATIONS, check};
use callgate_requests::explanation::verdict_json;
use callgate_requests::json::Json;

use crate::called::default_arch;
use crate::options::{Format, PROMPT};
use crate::report::{Failure, Result};
use crate::source::{Place, SourceFilter};
use crate::text::{counted, printable};

/// The report as text or JSON, and whether the filter meets all expectations.
pub(super) fn answer(filter: &SourceFilter, file: &Path, format: Format) -> Result<(String, bool)> {
    let place = Place::of_path(file);
    let text = place.read_text("expectations are lines such as `openat = allow`")?;
    filter.check_values()?;
    let mut store = Store::new(PROMPT);
    let root = filter.diagram(&mut store)?;
    let machine = default_arch(&filter.arches)?;
    let (checked, more) = check(&text, (&mut store, root), &filter.arches, machine);
    if more > 0 {
        let given = checked.len() + more;
        let message = format!("{given} expectations given, the limit is {MAX_EXPECTATIONS}");
        return Err(Failure::about(place.name(), message).help("divide the file"));
    }
    let errors: Vec<_> = checked.iter().filter_map(|one| one.result.clone().err()).collect();
    if !errors.is_empty() {
        return Err(Failure::of(place.name(), errors));
    }
    let unmet = checked.iter().filter(|one| !one.is_met()).count();
    let report = match format {
        Format::Text => text_of(&checked, &place.name(), unmet),
        Format::Json => json_of(&checked, unmet),
    };
    Ok((report, unmet == 0))
}

/// What is not met, and how much is.
fn text_of(checked: &[Checked], name: &str, unmet: usize) -> String {
    let mut text = String::new();
    let name = printable(name);
    for one in checked.iter().filter(|one| !one.is_met()) {
        let line = printable(&one.text);
        let _ = writeln!(text, "{name}:{}: {line}: {}", one.line, one.outcome());
    }
    let all = counted(checked.len() as u64, "expectation");
    let _ = match unmet {
        0 => writeln!(text, "the filter meets {all}"),
        unmet => writeln!(text, "the filter does not meet {unmet} of {all}"),
    };
    text
}

fn json_of(checked: &[Checked], unmet: usize) -> String {
    let items = checked.iter().filter_map(|one| {
        let verdicts = one.result.as_ref().ok()?;
        Some(Json::Object(vec![
            ("line", one.line.into()),
            ("text", one.text.as_str().into()),
            ("met", verdicts.is_met.into()),
            ("verdicts", Json::array(verdicts.found.iter().copied().map(verdict_json))),
            ("example", verdicts.example.as_str().into()),
        ]))
    });
    let fields = vec![("unmet", unmet.into()), ("expectations", Json::array(items))];
    format!("{}\n", Json::Object(fields))
}

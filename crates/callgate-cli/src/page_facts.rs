//! Where a page is from: date, version, command line, and the warnings that were printed.

use std::time::{SystemTime, UNIX_EPOCH};

use callgate_html::Warning;

use crate::report::{self, Failure, Result};
use crate::text::shell_word;

/// The variable with the date of reproducible outputs (reproducible-builds.org), in seconds since 1970.
const EPOCH: &str = "SOURCE_DATE_EPOCH";

/// Date, version and command line: label and text.
pub(crate) fn origin() -> Result<Vec<(&'static str, String)>> {
    let words = std::env::args_os().skip(1).map(|word| shell_word(&word.to_string_lossy()));
    let command: Vec<String> = ["callgate".to_owned()].into_iter().chain(words).collect();
    Ok(vec![
        ("date", date(seconds()?)),
        ("version", format!("callgate {}", env!("CARGO_PKG_VERSION"))),
        ("command", command.join(" ")),
    ])
}

/// The warnings that were printed so far.
pub(crate) fn warnings() -> Vec<Warning> {
    report::printed_warnings()
        .into_iter()
        .map(|(origin, warning)| {
            let position = warning.position.map(|at| format!(":{}:{}", at.line, at.column));
            let place = origin.map(|origin| origin + &position.unwrap_or_default());
            Warning {
                place: place.unwrap_or_default(),
                message: warning.message,
                help: warning.help,
            }
        })
        .collect()
}

/// The time of the page, in seconds since 1970.
fn seconds() -> Result<u64> {
    if let Some(text) = std::env::var_os(EPOCH).filter(|text| !text.is_empty()) {
        let seconds = text.to_str().and_then(|text| text.parse().ok());
        // Later dates have more than four digits in the year.
        return seconds.filter(|seconds| *seconds < 253_402_300_800).ok_or_else(|| {
            Failure::new(format!("{EPOCH} is \"{}\", not a time", text.to_string_lossy()))
                .help("give seconds since 1970, such as 1700000000, or unset the variable")
        });
    }
    Ok(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// A time as a date in UTC.
fn date(seconds: u64) -> String {
    let (mut days, of_day) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hours, minutes) = (of_day / 3600, of_day % 3600 / 60);
    format!("{year:04}-{month:02}-{:02} {hours:02}:{minutes:02} UTC", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399, "2000-02-28 23:59 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_700_000_000, "2023-11-14 22:13 UTC"),
            (1_735_689_599, "2024-12-31 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }
}

//! What the recorded runs say about runs that were not recorded, as text and as JSON.

use callgate_requests::json::Json;
use callgate_trace::unseen::{Estimate, Unseen};

use crate::text::{counted, grouped};

/// The estimates as sentences; `None`: there is only one run.
pub(super) fn text(unseen: Option<&Unseen>) -> String {
    let Some(unseen) = unseen else {
        return "no estimate is possible from one run, and one run often misses syscalls: record at least one more, with other inputs, and give all recordings"
            .to_owned();
    };
    let Unseen { runs, once, values_once, next_run, syscalls, .. } = unseen;
    let what = match (once, values_once) {
        (0, 0) => "no syscall was made by one run only".to_owned(),
        (1, 0) => "1 syscall was made by one run only".to_owned(),
        (_, 0) => format!("{} were made by one run only", counted(*once, "syscall")),
        _ => format!(
            "{} and {} of limited arguments are from one run only",
            counted(*once, "syscall"),
            counted(*values_once, "value")
        ),
    };
    let new = if *values_once > 0 {
        "makes a new syscall or has a new value"
    } else {
        "makes a new syscall"
    };
    let next = match unseen.runs_alone {
        0 if next_run.high >= 0.995 => {
            format!("these are too few runs to say how likely the next one {new}: record more")
        }
        _ => format!("the next run {new} with a probability of {}", probability(unseen)),
    };
    let mut text = format!("in {}, {what}; {next}", counted(*runs, "run"));
    if let Some(unseen) = syscalls {
        text += &format!(
            "; at least about {} more may be made ({})",
            counted(unseen.value.round().max(1.0) as u64, "syscall"),
            interval(*unseen, |number| grouped(number.round() as u64), ""),
        );
    }
    text
}

/// The probability that the next run does something new, with its interval.
fn probability(unseen: &Unseen) -> String {
    let next_run = unseen.next_run;
    match unseen.runs_alone {
        0 => format!("at most {}", percent(next_run.high)),
        _ => {
            let interval = interval(next_run, percent_number, " %");
            format!("about {} ({interval})", percent(next_run.value))
        }
    }
}

/// The estimates as JSON; null if there is only one run.
pub(super) fn json(unseen: Option<&Unseen>) -> Json {
    let Some(unseen) = unseen else { return Json::Null };
    let Unseen { runs, once, values_once, runs_alone, next_run, syscalls } = unseen;
    Json::Object(vec![
        ("runs", (*runs).into()),
        ("calls_of_one_run", (*once).into()),
        ("values_of_one_run", (*values_once).into()),
        ("runs_with_own", (*runs_alone).into()),
        ("next_run", estimate(next_run)),
        ("unseen_calls", syscalls.as_ref().map_or(Json::Null, estimate)),
    ])
}

fn estimate(Estimate { value, low, high }: &Estimate) -> Json {
    Json::Object(vec![
        ("estimate", Json::Float(*value)),
        ("low", Json::Float(*low)),
        ("high", Json::Float(*high)),
    ])
}

/// `5 to 57 %`.
fn interval(estimate: Estimate, number: impl Fn(f64) -> String, unit: &str) -> String {
    format!("{} to {}{unit}", number(estimate.low), number(estimate.high))
}

fn percent(probability: f64) -> String {
    format!("{} %", percent_number(probability))
}

/// A probability in percent: an integer, or one significant digit below 1 %.
fn percent_number(probability: f64) -> String {
    let percent = probability * 100.0;
    if percent >= 0.95 || percent <= 0.0 {
        return format!("{percent:.0}");
    }
    let digits = (-percent.log10()).ceil().clamp(1.0, 6.0) as usize;
    format!("{percent:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_probabilities_keep_one_digit() {
        let all = [0.0, 1.0, 0.25, 0.0549, 0.0096, 0.0094, 0.00037, 1e-12].map(percent_number);
        assert_eq!(all, ["0", "100", "25", "5", "1", "0.9", "0.04", "0.000000"]);
    }
}

//! Durations on the command line.

use std::time::Duration;

/// Parses `30s`, `5m`, `1h`, `500ms`; a number without a unit has seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let milliseconds: Option<u64> = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" | "min" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let number: Option<u64> = number.parse().ok();
    let time = number.zip(milliseconds).and_then(|(number, unit)| number.checked_mul(unit));
    match time {
        Some(0) => Err("the shortest time is 1ms".to_owned()),
        Some(time) => Ok(Duration::from_millis(time)),
        None => Err("expected a number with a unit: 500ms, 30s, 5m or 1h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        let of = |text| parse_time(text).map(|time| time.as_millis());
        for (text, expected) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("30", 30_000),
            ("5m", 300_000),
            ("5min", 300_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(of(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "s",
            "-1s",
            "1.5s",
            "1d",
            "30 s",
            "0",
            "99999999999999999999s",
            "9999999999999999999h",
        ] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}

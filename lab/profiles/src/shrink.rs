//! Minimization: removes parts of a profile one by one, as long as it still shows a difference.

use crate::json::Json;

/// The maximum number of attempts.
const LIMIT: usize = 5_000;

/// Removes parts of `profile` as long as `differs` holds.
pub fn shrink(profile: &Json, mut differs: impl FnMut(&Json) -> bool) -> Json {
    let mut best = profile.clone();
    let mut attempts = 0;
    loop {
        let mut smaller = Vec::new();
        variants(&best, &mut |variant| smaller.push(variant));
        let found = smaller.into_iter().find(|variant| {
            attempts += 1;
            attempts < LIMIT && differs(variant)
        });
        match found {
            Some(variant) => best = variant,
            None => return best,
        }
    }
}

/// All values without one of the parts, or with a smaller number; large parts first.
fn variants(value: &Json, give: &mut dyn FnMut(Json)) {
    match value {
        Json::Array(items) => {
            for i in 0..items.len() {
                let mut rest = items.clone();
                rest.remove(i);
                give(Json::Array(rest));
            }
            for (i, item) in items.iter().enumerate() {
                variants(item, &mut |variant| {
                    let mut changed = items.clone();
                    changed[i] = variant;
                    give(Json::Array(changed));
                });
            }
        }
        Json::Object(members) => {
            for i in 0..members.len() {
                let mut rest = members.clone();
                rest.remove(i);
                give(Json::Object(rest));
            }
            for (i, (_, value)) in members.iter().enumerate() {
                variants(value, &mut |variant| {
                    let mut changed = members.clone();
                    changed[i].1 = variant;
                    give(Json::Object(changed));
                });
            }
        }
        Json::Number(number) => {
            for smaller in [0, 1, number & 0xffff_ffff, number >> 1] {
                if smaller < *number {
                    give(Json::Number(smaller));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_taken_away() {
        let text = r#"{"a": [1, 900, {"b": 2}], "c": "d", "e": {"f": [], "g": 77}}"#;
        let has_large = |value: &Json| value.to_string().contains("77");
        let small = shrink(&Json::read(text).unwrap(), has_large);
        assert_eq!(small.to_string(), r#"{"e": {"g": 77}}"#);
    }
}

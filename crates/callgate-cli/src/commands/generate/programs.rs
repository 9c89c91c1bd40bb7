//! The programs of which recordings are.

use std::collections::BTreeMap;

use callgate_requests::json::Json;

use crate::recordings::{NamedRecording, programs_in_words};

/// The programs of recordings: of audit logs with the numbers of their records, of others with the numbers of their runs.
#[derive(Default)]
pub(super) struct Programs {
    records: Vec<(String, u64)>,
    /// Those whose records are not in the recordings, because others are selected.
    left_out: Vec<(String, u64)>,
    runs: Vec<(String, u64)>,
}

impl Programs {
    pub(super) fn of(named: &[NamedRecording]) -> Programs {
        let runs = named.iter().flat_map(|one| one.recording.runs());
        let runs = runs.filter_map(|run| Some((run.program()?.to_owned(), 1)));
        let of_logs = named.iter().map(|one| &one.programs);
        Programs {
            records: counted(of_logs.clone().flat_map(|programs| programs.read.iter().cloned())),
            left_out: counted(of_logs.flat_map(|programs| programs.others.iter().cloned())),
            runs: counted(runs),
        }
    }

    /// A line of the summary, unless the recordings are of one program, and no others are left out.
    pub(super) fn text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.records.len() > 1 || !self.left_out.is_empty() {
            parts.push(format!("records of {}", programs_in_words(&self.records)));
        }
        if self.runs.len() > 1 || !self.runs.is_empty() && !self.records.is_empty() {
            parts.push(format!("runs of {}", programs_in_words(&self.runs)));
        }
        if !self.left_out.is_empty() {
            parts.push(format!("left out: {} (--program)", programs_in_words(&self.left_out)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    pub(super) fn json(&self) -> Json {
        let list = |programs: &[(String, u64)], what: &'static str| {
            Json::array(programs.iter().map(|(name, count)| {
                Json::Object(vec![("name", name.as_str().into()), (what, (*count).into())])
            }))
        };
        Json::Object(vec![
            ("of_records", list(&self.records, "records")),
            ("of_runs", list(&self.runs, "runs")),
            ("left_out", list(&self.left_out, "records")),
        ])
    }
}

/// The sums by program, the largest first.
fn counted(programs: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in programs {
        *sums.entry(name).or_default() += count;
    }
    let mut all: Vec<(String, u64)> = sums.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all
}

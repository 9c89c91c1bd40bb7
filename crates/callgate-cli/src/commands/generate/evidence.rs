//! What recordings say about a dangerous syscall.

use callgate_trace::generate::{Draft, GrantReason};
use callgate_trace::recording::Recording;

use crate::text::times;

/// What the recording says about a syscall.
pub(super) struct Evidence {
    /// How often it was recorded; `None` if it was not.
    pub(super) count: Option<u64>,
    /// In how many of the runs.
    pub(super) runs: u64,
    pub(super) all_runs: u64,
    /// The executables or programs that made it, if they are known.
    pub(super) by: Vec<String>,
    pub(super) text: String,
}

impl Evidence {
    /// What a recording says.
    pub(super) fn of(recording: &Recording, name: &str) -> Evidence {
        let all_runs = recording.runs().len() as u64;
        let (mut count, mut runs) = (0_u64, 0);
        let mut by: Vec<String> = Vec::new();
        for (_, stats) in recording.syscalls().filter(|(id, _)| id.name() == Some(name)) {
            count = count.saturating_add(stats.count());
            runs = runs.max(stats.runs());
            let labels = stats.common_labels();
            by.extend(
                labels.filter(|(key, _)| *key == "executable").map(|(_, path)| path.to_owned()),
            );
        }
        if let [run] = recording.runs() {
            let executable = run.labels.get("executable").cloned();
            by.extend(executable.or_else(|| run.program().map(str::to_owned)));
        }
        by.sort_unstable();
        by.dedup();
        let text = match count {
            0 => "it was not recorded".to_owned(),
            _ => {
                let mut text = format!("it was recorded {}", times(count));
                if all_runs > 1 {
                    text += &format!(", in {runs} of {all_runs} runs");
                }
                if !by.is_empty() {
                    text += &format!(", of {}", by.join(", "));
                }
                text
            }
        };
        let count = Some(count).filter(|count| *count > 0);
        Evidence { count, runs, all_runs, by, text }
    }

    /// What a recording says about what a profile grants. `is_recorded` is false if namespaces are granted that were not
    /// recorded.
    pub(super) fn of_grant(draft: &Draft, name: &str, is_recorded: bool) -> Evidence {
        let of = Evidence::of(draft.recorded(), name);
        let grant = draft.grants().find(|grant| grant.name == name);
        let code = grant.and_then(|grant| grant.code.clone());
        let text = match (of.count, grant.map(|grant| grant.reason), code) {
            (None, _, _) if !is_recorded => {
                "it was not recorded, but asked for (--namespaces)".to_owned()
            }
            // Its flags are in memory, so what it did is not known.
            (Some(_), _, _) if !is_recorded && name == "clone3" => {
                format!("{}; allowed with --namespaces any", of.text)
            }
            (Some(_), _, _) if !is_recorded => {
                format!("{}, but not with these flags: asked for (--namespaces)", of.text)
            }
            (None, _, Some(place)) => format!("it was not recorded, but is in the code: {place}"),
            (None, Some(GrantReason::Runtime), _) => {
                format!("it was not recorded: {}", draft.options().runtime.description())
            }
            _ => of.text,
        };
        let count = of.count.filter(|_| is_recorded || name == "clone3");
        Evidence { text, count, ..of }
    }
}

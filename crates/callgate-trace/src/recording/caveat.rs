//! What is to be said against a recording: where it has less, more or something else than the program
//! calls without a recorder.
//!
//! A caveat is found while somebody records and matters when a profile is made, on another day, of several
//! merged recordings. So it is written into the file, with an identifier that programs know and a text
//! for people. Readers treat identifiers that they do not know by their [`Effect`].

use super::model::Run;

/// Something to be said against a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Caveat {
    /// A stable identifier, such as `denied-calls`; the list is where recordings are
    /// [read](crate::read).
    pub id: String,
    /// What it does to the recording.
    pub effect: Effect,
    /// How many calls, threads or whatever else it is about, where that is known.
    pub count: Option<u64>,
    /// It in words.
    pub text: String,
}

/// How a recording differs from what the program calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Calls are missing: a profile made of it denies them.
    Incomplete,
    /// The program ran otherwise than it does without a recorder, and may call something else.
    Altered,
    /// It has calls that did not succeed, because a filter denied them: a profile made of it allows them.
    Excess,
}

impl Effect {
    /// All of them.
    pub const ALL: &'static [Effect] = &[Effect::Incomplete, Effect::Altered, Effect::Excess];

    /// Its name in a recording.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Incomplete => "incomplete",
            Effect::Altered => "altered",
            Effect::Excess => "excess",
        }
    }
}

impl Caveat {
    /// The identifier of calls that happened and are not in the counts: the `lost` of a run.
    pub const LOST_CALLS: &'static str = "lost-calls";
    /// The identifier of a recording whose end is missing.
    pub const CUT_OFF: &'static str = "cut-off";

    /// A recording of which the end is missing.
    pub fn cut_off() -> Caveat {
        Caveat {
            id: Caveat::CUT_OFF.to_owned(),
            effect: Effect::Incomplete,
            count: None,
            text: "the recording was cut off: entries behind the cut are missing".to_owned(),
        }
    }

    /// A recording that was saved while the command ran.
    pub fn unfinished() -> Caveat {
        let text = "the recording was saved while the command ran: what it called later is missing";
        Caveat { text: text.to_owned(), ..Caveat::cut_off() }
    }

    fn lost(calls: u64) -> Caveat {
        Caveat {
            id: Caveat::LOST_CALLS.to_owned(),
            effect: Effect::Incomplete,
            count: Some(calls),
            text: format!("calls happened that are not in the recording, at least {calls}"),
        }
    }
}

/// One caveat for each identifier, the weightiest effects first. Of the same one in several runs the first is
/// given, with their number.
pub(super) fn of(runs: &[Run]) -> Vec<Caveat> {
    let mut all: Vec<(Caveat, usize)> = Vec::new();
    for caveat in runs.iter().flat_map(|run| &run.caveats) {
        match all.iter_mut().find(|(known, _)| known.id == caveat.id) {
            Some((known, times)) => {
                *times += 1;
                known.effect = known.effect.min(caveat.effect);
                known.count = match (known.count, caveat.count) {
                    (Some(a), Some(b)) => Some(a.saturating_add(b)),
                    _ => None,
                };
            }
            None => all.push((caveat.clone(), 1)),
        }
    }
    let lost = runs.iter().fold(0, |sum: u64, run| sum.saturating_add(run.lost));
    // Of a recording that was cut off, more is said by that.
    let is_cut = all.iter().any(|(caveat, _)| caveat.id == Caveat::CUT_OFF);
    if lost > 0 && !(is_cut && lost == 1) {
        all.push((Caveat::lost(lost), 1));
    }
    let mut caveats: Vec<Caveat> = all
        .into_iter()
        .map(|(mut caveat, times)| {
            if times > 1 {
                caveat.text += &format!(" (so in {times} of {} runs)", runs.len());
            }
            caveat
        })
        .collect();
    caveats.sort_by(|a, b| (a.effect, &a.id).cmp(&(b.effect, &b.id)));
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(lost: u64, caveats: &[(&str, Effect, Option<u64>)]) -> Run {
        let caveat = |(id, effect, count): &(&str, Effect, Option<u64>)| Caveat {
            id: (*id).to_owned(),
            effect: *effect,
            count: *count,
            text: format!("{id} happened"),
        };
        Run { lost, caveats: caveats.iter().map(caveat).collect(), ..Run::default() }
    }

    #[test]
    fn what_several_runs_have_is_said_once() {
        let runs = [
            run(
                2,
                &[
                    ("denied-calls", Effect::Excess, Some(3)),
                    ("unprivileged", Effect::Altered, None),
                ],
            ),
            run(5, &[("denied-calls", Effect::Excess, Some(4))]),
            run(0, &[("denied-calls", Effect::Excess, None)]),
        ];
        let texts = |runs: &[Run]| of(runs).into_iter().map(|one| one.text).collect::<Vec<_>>();
        assert_eq!(
            texts(&runs),
            [
                "calls happened that are not in the recording, at least 7",
                "unprivileged happened",
                "denied-calls happened (so in 3 of 3 runs)",
            ]
        );
        assert_eq!(of(&runs[..2]).last().and_then(|one| one.count), Some(7));
        assert_eq!(of(&runs).last().and_then(|one| one.count), None);
        assert_eq!(texts(&[Run::default()]), [""; 0]);
    }

    #[test]
    fn a_cut_is_said_once_and_not_as_a_lost_call_too() {
        let cut = Run { lost: 1, caveats: vec![Caveat::cut_off()], ..Run::default() };
        assert_eq!(of(std::slice::from_ref(&cut)), [Caveat::cut_off()]);
        assert_eq!(of(&[cut, run(9, &[])]).len(), 2);
    }
}

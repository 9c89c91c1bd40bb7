//! The calls of a log, bounded: a log may have any number in the place of that of a call.

use std::collections::BTreeMap;

use crate::recording::{CallId, Recording, Run, Seen};
use callgate_bpf::diagnostic::Position;
use callgate_formats::messages::Messages;

/// How many different calls a recording may have: more than there are on all architectures together.
pub(crate) const MAX_CALLS: usize = 16_384;

/// A recording of one run. A reader that keeps the [`Place`] of a call finds it without a search.
pub(crate) struct Calls {
    run: Run,
    seen: Vec<(CallId, Seen)>,
    /// Where each call is in the list. A tree, because the numbers are those of the log, and a log could be
    /// made to have numbers whose hashes are all the same.
    places: BTreeMap<CallId, Place>,
    /// How many there was no room for, and where the first of them stands.
    lost: Option<(Position, u64)>,
}

/// Where a call is in the list of [`Calls`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(usize);

impl Calls {
    pub(crate) fn of(run: Run) -> Calls {
        Calls { run, seen: Vec::new(), places: BTreeMap::new(), lost: None }
    }

    /// The place of a call; `None` when there is no room for another one.
    pub(crate) fn place(&mut self, call: CallId) -> Option<Place> {
        if let Some(place) = self.places.get(&call) {
            return Some(*place);
        }
        if self.seen.len() >= MAX_CALLS {
            return None;
        }
        let place = Place(self.seen.len());
        self.seen.push((call, Seen::new(call)));
        self.places.insert(call, place);
        Some(place)
    }

    /// What was seen of the call at a place.
    pub(crate) fn at(&mut self, Place(index): Place) -> Option<&mut Seen> {
        self.seen.get_mut(index).map(|(_, seen)| seen)
    }

    /// There is no room for the call at this position in the text.
    pub(crate) fn lose(&mut self, at: impl FnOnce() -> Position) {
        let (_, lost) = self.lost.get_or_insert_with(|| (at(), 0));
        *lost = lost.saturating_add(1);
    }

    /// The recording; what is not in it is said.
    pub(crate) fn finish(self, messages: &mut Messages) -> Recording {
        let mut run = self.run;
        if let Some((at, lost)) = self.lost {
            let message = format!(
                "more than {MAX_CALLS} different calls, the limit; the others from here on ({lost}) are left out"
            );
            messages.warn(at, message).help =
                "no kernel has so many calls; check what was logged".to_owned();
            run.lost = run.lost.saturating_add(lost);
        }
        Recording::of_calls(run, self.seen)
    }
}

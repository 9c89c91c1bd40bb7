//! How long the search takes: its number of random syscalls, and its time.

use std::time::{Duration, Instant};

use callgate::fuzz::Search;

use super::args::FuzzArgs;
use crate::progress::Progress;

/// The options of the search.
pub(super) fn options(args: &FuzzArgs) -> Search {
    Search {
        seed: args.seed,
        runs: args.runs.unwrap_or(match args.time {
            Some(_) => u64::MAX,
            None => Search::default().runs,
        }),
        ..Search::default()
    }
}

/// Shows the number of syscalls so far; false when the time is over.
pub(super) fn teller<'p>(
    args: &FuzzArgs,
    start: Instant,
    progress: &'p mut Progress,
) -> impl FnMut(u64) -> bool + use<'p> {
    let limit = args.time.map(|seconds| Duration::from_secs(seconds.into()));
    move |calls| {
        progress.tell(|| format!("{calls} syscalls"));
        limit.is_none_or(|limit| start.elapsed() < limit)
    }
}

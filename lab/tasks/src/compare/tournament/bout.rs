//! A program of a peer, and Callgate's programs for the same function.

use std::time::{Duration, Instant};

use callgate::compile::{CompileError, Options, compile, filtered_insns};
use callgate::optimize::optimize;
use callgate::{Arch, Endian};
use callgate_codegen::{Aim, Weights};
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_core::{Cases, Program, Proved};

use super::kinds::Set;
use crate::compare::measure::LIMIT;
use crate::compare::peers::{self, Missing, Peer, Peers};
use callgate_tasks::Result;

const ENDIAN: Endian = Endian::Little;
const ARCHES: &[Arch] = &[Arch::X86_64];

/// How much longer a program may be that counts as faster.
const LONGER: f64 = 1.5;

/// The time above which a compilation is a row of its own.
pub(super) const SLOW: Duration = Duration::from_millis(500);

/// A row of the tournament.
#[derive(Clone, Debug)]
pub(super) struct Bout {
    pub(super) peer: Peer,
    pub(super) theirs: Figures,
    /// Callgate's, for size and for speed.
    pub(super) size: Result<Figures>,
    pub(super) speed: Result<Figures>,
}

/// The figures of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    pub(super) insns: usize,
    /// The mean number of executed instructions of permitted syscalls for which every kernel runs the filter.
    pub(super) filtered: Option<f64>,
    pub(super) time: Duration,
}

/// In what a peer can be ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ahead {
    Size,
    Speed,
    Time,
}

impl Ahead {
    pub(super) fn name(self) -> &'static str {
        match self {
            Ahead::Size => "size",
            Ahead::Speed => "speed",
            Ahead::Time => "time",
        }
    }
}

impl Bout {
    /// In what the peer is ahead, each with how far: ours over theirs.
    pub(super) fn ahead(&self) -> Vec<(Ahead, f64)> {
        let mut ahead = Vec::new();
        if let Ok(size) = &self.size {
            let (ours, theirs) = (size.insns as f64, self.theirs.insns as f64);
            if ours > theirs + (theirs * 0.02).max(1.0) {
                ahead.push((Ahead::Size, ours / theirs));
            }
        }
        if let Ok(speed) = &self.speed {
            let is_short = self.theirs.insns as f64 <= LONGER * speed.insns as f64;
            if let (Some(ours), Some(theirs), true) =
                (speed.filtered, self.theirs.filtered, is_short)
                && theirs < 0.97 * ours
            {
                ahead.push((Ahead::Speed, ours / theirs));
            }
            let (ours, theirs) = (speed.time.as_secs_f64(), self.theirs.time.as_secs_f64());
            if theirs < ours / 2.0 && ours - theirs > 0.001 {
                ahead.push((Ahead::Time, ours / theirs.max(1e-9)));
            }
        }
        ahead
    }

    /// What Callgate refuses, and why.
    pub(super) fn refused(&self) -> Option<&str> {
        let errors = [&self.size, &self.speed].into_iter().filter_map(|made| made.as_ref().err());
        errors.map(String::as_str).next()
    }

    /// The longer compilation.
    pub(super) fn time(&self) -> Duration {
        [&self.size, &self.speed]
            .into_iter()
            .flatten()
            .map(|one| one.time)
            .max()
            .unwrap_or_default()
    }
}

/// Compares a peer with Callgate; `None` if it has no program that the kernel accepts.
pub(super) fn bout(set: &Set, peer: Peer, peers: &Peers) -> Result<Option<Bout>> {
    let compiled = match peers.compile(peer, &set.rules, Duration::ZERO, LIMIT) {
        Ok(compiled) => compiled,
        Err(Missing::NotMeasured(_) | Missing::CannotExpress(_)) => return Ok(None),
        // It refuses the rules, or takes forever: Callgate is ahead, and there is nothing to compare.
        Err(Missing::Failed(_) | Missing::TookLonger(_)) => return Ok(None),
    };
    let Ok(program) = Program::from_bytes(&compiled.bytes, ENDIAN) else { return Ok(None) };
    let policy = meant(set, peer, &compiled)?;
    let mut store = Store::default();
    let function = store.program(&program, ENDIAN).ok();
    let is_meant = match function.map(|function| (function, store.policy(&policy))) {
        Some((function, Ok(meant))) => meant == function,
        // Without a diagram, what is executed may be unknown, but not the meaning.
        _ => Cases::of_policy(&policy).is_some_and(|cases| cases.proves(&program)),
    };
    let filtered = |program: &Program| {
        let function = function?;
        let syscalls = Weights::uniform().resolve(&store, function, ARCHES);
        filtered_insns(&store, function, program, &syscalls, ENDIAN)
    };
    let made = |aim| {
        let options = Options { aim, expected_insns: false, ..Options::default() };
        let start = Instant::now();
        // What it means itself is compiled from the rules, and another program is optimized, as by its users.
        let made: Result<Proved, CompileError> = match is_meant {
            true => compile(&policy, &options).map(|compiled| compiled.program),
            false => {
                optimize(&program, ENDIAN, ARCHES, &options).map(|optimized| optimized.program)
            }
        };
        let time = start.elapsed();
        let made = made.map_err(|error| error.to_string())?;
        Ok(Figures { insns: made.len(), filtered: filtered(&made), time })
    };
    let theirs =
        Figures { insns: program.len(), filtered: filtered(&program), time: compiled.time };
    Ok(Some(Bout { peer, theirs, size: made(Aim::Size), speed: made(Aim::Speed) }))
}

/// The rules as a peer understands them.
fn meant(set: &Set, peer: Peer, compiled: &peers::Compiled) -> Result<Policy> {
    let known = set.rules.without(&compiled.unknown).narrowed(&compiled.narrow);
    known.with_edges(peer.edges(&set.rules)).to_policy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_differences_are_not_ahead() {
        let figures = |insns, filtered, micros| Figures {
            insns,
            filtered: Some(filtered),
            time: Duration::from_micros(micros),
        };
        let ahead = |theirs, size, speed| {
            let bout =
                Bout { peer: Peer::LibseccompTree, theirs, size: Ok(size), speed: Ok(speed) };
            bout.ahead().into_iter().map(|(what, _)| what).collect::<Vec<_>>()
        };
        let theirs = figures(100, 10.0, 10);
        assert_eq!(ahead(theirs, figures(102, 0.0, 0), figures(110, 10.3, 900)), []);
        assert_eq!(ahead(theirs, figures(103, 0.0, 0), figures(110, 10.0, 0)), [Ahead::Size]);
        assert_eq!(ahead(theirs, figures(99, 0.0, 0), figures(70, 10.5, 0)), [Ahead::Speed]);
        assert_eq!(ahead(theirs, figures(99, 0.0, 0), figures(60, 10.5, 0)), [], "it is long");
        assert_eq!(ahead(theirs, figures(99, 0.0, 0), figures(99, 9.0, 1100)), [Ahead::Time]);
        let refused = Err("too complex".to_owned());
        let bout = Bout { peer: Peer::Seacomb, theirs, size: Ok(theirs), speed: refused };
        assert_eq!(bout.refused(), Some("too complex"));
    }
}

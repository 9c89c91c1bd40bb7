//! Compares the programs of `callgate_experiments::libseccomp` with those of libseccomp.
//!
//! Both compile the rule sets of the comparison and random rules, as a list and as a tree; the programs must be
//! equal, instruction by instruction. Random rules that our module refuses are counted and not given to the
//! library, which hangs for some of them; in most of them, one rule covers another.

use std::path::Path;
use std::time::Duration;

use callgate::Endian;
use callgate_core::policy::Policy;
use callgate_core::{Insn, Program};
use callgate_experiments::libseccomp::{self, ShapeError};

use super::generate;
use super::peers::{Missing, Peer, Peers};
use super::rules::Rules;
use super::sets;
use callgate_tasks::Result;

/// The number of random rule sets.
const RANDOM: u64 = 1000;
/// The time limit of the library for one rule set; it usually takes milliseconds.
const LIMIT: Duration = Duration::from_secs(20);

type Builder = fn(&Policy) -> Result<Program, ShapeError>;
const SHAPES: [(Peer, Builder); 2] =
    [(Peer::LibseccompLinear, libseccomp::list), (Peer::LibseccompTree, libseccomp::tree)];

/// The results, counted.
#[derive(Default)]
struct Counts {
    same: usize,
    /// Refused by our module.
    refused: usize,
    /// Different programs, and those that only libseccomp refuses.
    different: Vec<String>,
}

pub(super) fn compare(
    directory: &Path,
    profiles: Option<&Path>,
    progress: impl Fn(&str),
) -> Result<String> {
    let peers = Peers::libseccomp(directory)?;
    let mut text = peers.versions().join("\n") + "\n";
    let mut counts = Counts::default();
    let mut notes = Vec::new();
    for set in sets::all(profiles, &mut notes)? {
        for (peer, builder) in SHAPES {
            let name = format!("{}: {}", set.name, peer.name());
            let outcome = counts.add(&name, peer, builder, &set.rules, &peers)?;
            text += &format!("{name}: {outcome}\n");
        }
    }
    for seed in 0..RANDOM {
        if seed % 100 == 0 {
            progress(&format!("{seed} of {RANDOM} random rule sets"));
        }
        let rules = generate::mixed(seed);
        for (peer, builder) in SHAPES {
            if builder(&rules.to_policy()?).is_err() {
                counts.refused += 1;
            } else {
                let name = format!("random rules {seed}: {}", peer.name());
                counts.add(&name, peer, builder, &rules, &peers)?;
            }
        }
    }
    text += &format!(
        "with {RANDOM} random rule sets: {} programs the same, {} different, {} refused\n",
        counts.same,
        counts.different.len(),
        counts.refused
    );
    if counts.different.is_empty() {
        return Ok(text);
    }
    let first: String = counts.different.iter().take(5).map(|line| format!("{line}\n")).collect();
    Err(format!("the programs differ from those of libseccomp\n{text}{first}"))
}

impl Counts {
    /// Compares one program; describes the result.
    fn add(
        &mut self,
        name: &str,
        peer: Peer,
        builder: Builder,
        rules: &Rules,
        peers: &Peers,
    ) -> Result<String> {
        let rules = Rules { hot: Vec::new(), ..rules.with_edges(peer.edges(rules)) };
        let (theirs, rules) = match peers.compile(peer, &rules, Duration::ZERO, LIMIT) {
            Ok(compiled) => {
                // Our module also refuses programs that are too long for the kernel.
                let program = Program::from_bytes(&compiled.bytes, Endian::Little);
                (program.map_err(|error| error.to_string()), rules.without(&compiled.unknown))
            }
            Err(Missing::CannotExpress(why)) => (Err(why), rules),
            Err(other) => return Err(format!("{name}: {other}")),
        };
        let outcome = match (builder(&rules.to_policy()?), theirs) {
            (Ok(ours), Ok(theirs)) if ours == theirs => {
                self.same += 1;
                return Ok(format!("{} instructions, the same", ours.len()));
            }
            (Err(why), _) => {
                self.refused += 1;
                return Ok(format!("refused: {why}"));
            }
            (Ok(ours), Ok(theirs)) => {
                let (ours, theirs): (Vec<&Insn>, Vec<&Insn>) =
                    (ours.iter().collect(), theirs.iter().collect());
                let at = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
                format!(
                    "{} instructions, libseccomp's has {}; instruction {at} is {:?}, libseccomp's {:?}",
                    ours.len(),
                    theirs.len(),
                    ours.get(at),
                    theirs.get(at)
                )
            }
            (Ok(_), Err(why)) => format!("refused by libseccomp only: {why}"),
        };
        self.different.push(format!("{name}: {outcome}"));
        Ok(outcome)
    }
}

//! Draws the sets and compares them.

use std::fs;

use callgate_tasks::files::write;
use callgate_tasks::{Result, workspace};

use super::bout::bout;
use super::kinds::Set;
use super::options::Options;
use super::page::page;
use super::report::Report;
use crate::compare::peers::{Peer, Peers};
use crate::compare::sets;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let progress = |text: &str| eprintln!("tournament: {text}");
    progress("building the others");
    let peers = Peers::build(&workspace().join("target/compare"))?;
    peers.versions().iter().for_each(|version| progress(version));
    let container = sets::container()?;
    let mut report = Report::default();
    let numbers = match options.only {
        Some(only) => only..only + 1,
        None => 0..options.sets,
    };
    for number in numbers.clone() {
        let set = Set::draw(options.seed, number, &container)?;
        if number % 20 == 0 {
            progress(&format!("set {number} of {}", numbers.end));
        }
        let mut bouts = Vec::new();
        for peer in Peer::ALL {
            bouts.extend(bout(&set, peer, &peers)?);
        }
        if options.only.is_some() {
            println!("{:#?}", set.rules);
            bouts.iter().for_each(|bout| println!("{bout:?}"));
        }
        report.add(&set, &bouts);
    }
    print!("{}", report.plain(options.rows));
    match options.update {
        true => {
            let path = workspace().join("lab/results/tournament.md");
            let before = fs::read_to_string(&path).unwrap_or_default();
            write(&path, page(&before, &options, &peers.versions(), &report))
        }
        false => Ok(()),
    }
}

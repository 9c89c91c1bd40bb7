//! Random ancillary data of packets.

use callgate_bpf::random::Rng;
use callgate_core::{Ancillary, AncillaryWord};

/// Ancillary data for tests: a word depends on its offset, A, X and the length of the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RandomAncillary {
    pub(crate) words: u32,
    pub(crate) network: usize,
    pub(crate) link: Option<usize>,
}

impl RandomAncillary {
    pub(super) fn random(rng: &mut Rng) -> RandomAncillary {
        RandomAncillary {
            words: rng.next() as u32,
            network: rng.below(70),
            link: (rng.below(4) > 0).then(|| rng.below(8)),
        }
    }
}

impl Ancillary for RandomAncillary {
    fn word(&self, word: AncillaryWord, packet: &[u8], a: u32, x: u32) -> u32 {
        self.words ^ word.offset() ^ a.rotate_left(7) ^ x.rotate_left(19) ^ packet.len() as u32
    }

    fn network_header(&self) -> usize {
        self.network
    }

    fn link_header(&self) -> Option<usize> {
        self.link
    }
}

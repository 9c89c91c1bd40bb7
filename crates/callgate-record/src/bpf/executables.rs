//! The executables of a session that counts them apart.

use std::collections::BTreeSet;
use std::io;

use super::layout::{EXECUTABLE_KEY, OTHERS, PATH_BYTES};
use super::session::Session;
use super::set::MAX_NAMED;
use crate::tally::MAX_EXECUTABLES;

/// [`OTHERS`] in the map.
const OTHERS_NUMBER: u64 = OTHERS as u64;

/// An executable of a session.
pub(super) struct Executable {
    pub(super) number: u64,
    /// How often it was executed.
    pub(super) executions: u64,
    pub(super) path: Vec<u8>,
}

impl Session {
    /// Inserts the entry of all executables beyond the limit, and of those whose path is not known.
    pub(super) fn name_others(&self) -> io::Result<()> {
        self.set.executables.insert(&self.executable_key(b""), &[OTHERS_NUMBER, 0])
    }

    /// The number of an executable that ran before it was recorded.
    pub(super) fn number_of(&mut self, path: &[u8]) -> io::Result<u64> {
        let key = self.executable_key(path);
        if self.numbered >= MAX_EXECUTABLES as u64 {
            return Ok(self.known_number(&key)?.unwrap_or(OTHERS_NUMBER));
        }
        let next = OTHERS_NUMBER + 1 + self.numbered;
        match self.set.executables.insert_new(&key, &[next, 0]) {
            Ok(true) => {
                self.numbered += 1;
                Ok(next)
            }
            Ok(false) => Ok(self.known_number(&key)?.unwrap_or(OTHERS_NUMBER)),
            Err(why) if why.raw_os_error() == Some(libc::E2BIG) => Ok(OTHERS_NUMBER),
            Err(why) => Err(why),
        }
    }

    fn known_number(&self, key: &[u8]) -> io::Result<Option<u64>> {
        Ok(self.set.executables.get(key)?.and_then(|known| known.first().copied()))
    }

    /// The session and the path, cut to the length that programs see.
    fn executable_key(&self, path: &[u8]) -> [u8; EXECUTABLE_KEY] {
        let mut key = [0; EXECUTABLE_KEY];
        let (session, place) = key.split_at_mut(8);
        session.copy_from_slice(&self.id.to_ne_bytes());
        place.iter_mut().zip(path.iter().take(PATH_BYTES - 1)).for_each(|(to, from)| *to = *from);
        key
    }

    /// The keys of its executables.
    fn executable_keys(&self) -> io::Result<BTreeSet<Vec<u8>>> {
        let (mut key, mut own) = (None, BTreeSet::new());
        // If another session removes a key, the kernel starts with the first one again.
        for _ in 0..4 * MAX_NAMED {
            key = self.set.executables.next_key(key.as_deref())?;
            let Some(key) = &key else { break };
            if key.starts_with(&self.id.to_ne_bytes()) {
                own.insert(key.clone());
            }
        }
        Ok(own)
    }

    /// Its executables in the order of their numbers: those that a full tally counts apart stay the same ones.
    pub(super) fn executables(&self) -> io::Result<Vec<Executable>> {
        let mut all = Vec::new();
        for key in self.executable_keys()? {
            let Some(value) = self.set.executables.get(&key)? else { continue };
            let &[number, executions] = value.as_slice() else { continue };
            let path = key.get(8..).unwrap_or_default();
            let path = path.split(|byte| *byte == 0).next().unwrap_or_default().to_owned();
            all.push(Executable { number, executions, path });
        }
        all.sort_by_key(|executable| executable.number);
        Ok(all)
    }

    pub(super) fn forget_executables(&self) -> io::Result<()> {
        let keys = self.executable_keys()?;
        keys.iter().try_for_each(|key| self.set.executables.remove(key).map(drop))
    }
}

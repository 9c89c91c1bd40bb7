//! A recorder's entries in a set of programs: its counters, its threads, its cgroup, its executables.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::kernel::{self, Form, Map, processors};
use super::layout::{EXECUTABLE_KEY, OTHERS, PATH_BYTES, session, state};
use super::set::{MAX_NAMED, Plan, SYSCALLS, Set};
use crate::tally::{MAX_EXECUTABLES, MAX_SYSCALLS, MAX_THREADS};

/// The entries of a recorder in a set; removed when dropped.
pub(super) struct Session {
    pub(super) set: Arc<Set>,
    pub(super) id: u64,
    secret: u64,
    /// Argument values in `syscalls` are stored xor this.
    pub(super) key: u64,
    pub(super) syscalls: Map,
    /// Adds `syscalls` to those of the set.
    opening: Option<JoinHandle<io::Result<()>>>,
    /// How many keys `syscalls` has at most.
    pub(super) capacity: usize,
    /// Whether executables are counted apart.
    pub(super) splits: bool,
    misses_before: u64,
    /// The recorded cgroup.
    cgroup: Option<u64>,
    /// Whether threads were adopted, which may outlive the session.
    has_adopted: bool,
    /// How many executables have a number from this process.
    pub(super) numbered: u64,
}

/// The result of adding a running thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adopted {
    /// It is recorded from now on.
    New,
    /// It was recorded already.
    Known,
    /// Another recorder records it by the same programs.
    Taken,
    /// The map of threads is full.
    Full,
}

impl Session {
    pub(super) fn new(set: Arc<Set>, plan: &Plan, splits: bool) -> io::Result<Session> {
        let form = if splits { many_counters()? } else { SYSCALLS };
        let syscalls = Map::new(form, &plan.name('e'))?;
        let [id, secret, key] = kernel::random()?;
        let misses_before = set.misses()?;
        let mut session = Session {
            set,
            id,
            secret,
            key,
            syscalls,
            opening: None,
            capacity: form.entries as usize,
            splits,
            misses_before,
            cgroup: None,
            has_adopted: false,
            numbered: 0,
        };
        let mut words = [0; session::ALL];
        words[session::SECRET as usize] = secret;
        words[session::KEY as usize] = key;
        words[session::SPLIT as usize] = u64::from(splits);
        words[session::MAX_PAIRS as usize] = (session.capacity - MAX_SYSCALLS) as u64;
        session.set.sessions.insert(&id.to_ne_bytes(), &words)?;
        session.open()?;
        if splits {
            session.name_others()?;
        }
        Ok(session)
    }

    /// Lets the programs find the counters. In a map of maps, the kernel changes an entry at once, but then waits for
    /// programs that may still use the entry before (`maybe_wait_bpf_programs`), 10 ms and more. There was none, so a thread
    /// waits, and this returns when the entry is there.
    fn open(&mut self) -> io::Result<()> {
        let key = self.id.to_ne_bytes();
        let (all, own) = (self.set.syscalls.try_clone()?, self.syscalls.try_clone()?);
        let insert = move || all.insert(&key, &[own.descriptor() as u64]);
        let opening = std::thread::Builder::new().spawn(insert)?;
        while !opening.is_finished() {
            if self.set.syscalls.get(&key)?.is_some() {
                self.opening = Some(opening);
                return Ok(());
            }
            std::thread::yield_now();
        }
        joined(opening)
    }

    /// The arguments of the syscall that adds the first thread.
    pub(super) fn cookie(&self) -> [u64; 2] {
        [self.id, self.secret]
    }

    /// The other counters ([`session`]).
    pub(super) fn words(&self) -> io::Result<[u64; session::ALL]> {
        let words = self.set.sessions.get(&self.id.to_ne_bytes())?;
        let words = words.and_then(|words| words.try_into().ok());
        words.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    #[cfg(test)]
    pub(super) fn set_words(&self, words: [u64; session::ALL]) {
        self.set.sessions.insert(&self.id.to_ne_bytes(), &words).unwrap();
    }

    /// How many events the programs missed since the session started, perhaps of other sessions.
    pub(super) fn misses(&self) -> io::Result<u64> {
        Ok(self.set.misses()?.saturating_sub(self.misses_before))
    }

    /// One of its threads. Threads of other sessions that start and end may hide it temporarily.
    pub(super) fn thread(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.threads(1)?.pop())
    }

    /// As many of its threads at most.
    fn threads(&self, most: usize) -> io::Result<Vec<Vec<u8>>> {
        let (mut key, mut own) = (None, Vec::new());
        for _ in 0..MAX_THREADS {
            key = self.set.threads.next_key(key.as_deref())?;
            let Some(thread) = &key else { break };
            if self.state(thread)?.is_some() {
                own.push(thread.clone());
            }
            if own.len() == most {
                break;
            }
        }
        Ok(own)
    }

    /// The state of a thread; `None` if the session does not have it.
    pub(super) fn state(&self, thread: &[u8]) -> io::Result<Option<u64>> {
        let value = self.set.threads.get(thread)?;
        let own = value.filter(|value| value.get(1) == Some(&self.id));
        Ok(own.and_then(|value| value.first().copied()))
    }

    /// Sets the state of a thread of this session, which executes this.
    pub(super) fn set_state(&self, thread: &[u8], state: u64, executable: u64) -> io::Result<()> {
        self.set.threads.insert(thread, &[state, self.id, self.key, executable])
    }

    /// Removes a thread; returns whether it was there.
    pub(super) fn forget(&self, thread: &[u8]) -> io::Result<bool> {
        self.set.threads.remove(thread)
    }

    /// Adds a thread that runs this executable already.
    pub(super) fn adopt(&mut self, thread: &[u8], executable: u64) -> io::Result<Adopted> {
        const ATTACHED: u64 = state::ATTACHED as u64;
        self.has_adopted = true;
        match self.set.threads.insert_new(thread, &[ATTACHED, self.id, self.key, executable]) {
            Ok(true) => return Ok(Adopted::New),
            Ok(false) => {}
            Err(why) if why.raw_os_error() == Some(libc::E2BIG) => return Ok(Adopted::Full),
            Err(why) => return Err(why),
        }
        match self.set.threads.get(thread)?.as_deref() {
            // If its `execve` fails, it would no longer be recorded.
            Some([state, session, ..]) if *session == self.id && *state == state::JOINS as u64 => {}
            Some([_, session, ..]) if *session == self.id => return Ok(Adopted::Known),
            Some([_, session, ..]) if self.is_live(*session)? => return Ok(Adopted::Taken),
            // It belongs to a session that has ended.
            Some(_) => {}
            // It has just ended.
            None => return Ok(Adopted::Known),
        }
        self.set_state(thread, ATTACHED, executable)?;
        Ok(Adopted::New)
    }

    fn is_live(&self, session: u64) -> io::Result<bool> {
        Ok(self.set.sessions.get(&session.to_ne_bytes())?.is_some())
    }

    /// From now on, processes that execute a program in this cgroup or below are added; false if another recorder
    /// has this cgroup.
    pub(super) fn adopt_cgroup(&mut self, cgroup: u64) -> io::Result<bool> {
        let (key, value) = (cgroup.to_ne_bytes(), [self.id, self.key]);
        if !self.set.cgroups.insert_new(&key, &value)? {
            let owner = self.set.cgroups.get(&key)?.and_then(|value| value.first().copied());
            if owner.map_or(Ok(false), |owner| self.is_live(owner))? {
                return Ok(false);
            }
            self.set.cgroups.insert(&key, &value)?;
        }
        self.cgroup = Some(cgroup);
        Ok(true)
    }

    /// Removes all counters of syscalls.
    pub(super) fn clear(&self) -> io::Result<()> {
        while let Some(key) = self.syscalls.next_key(None)? {
            self.syscalls.remove(&key)?;
        }
        Ok(())
    }

    /// Stops counting; no program counts any more when this returns.
    pub(super) fn stop(&self) -> io::Result<()> {
        // The kernel waits for programs that are running (`maybe_wait_bpf_programs`).
        self.set.syscalls.remove(&self.id.to_ne_bytes()).map(drop)
    }

    /// Removes its threads: those of other recorders use the same programs and the same map.
    fn forget_threads(&self) -> io::Result<()> {
        self.threads(usize::MAX)?.iter().try_for_each(|thread| self.forget(thread).map(drop))
    }
}

/// The counters of a session that counts executables apart: those without an executable, and as many others as a bounded
/// part of the kernel's memory holds, but at least as many again.
fn many_counters() -> io::Result<Form> {
    /// Bytes of all values.
    const MEMORY: usize = 512 << 20;
    let values = SYSCALLS.value_size as usize * processors()?;
    let entries = (MEMORY / values).clamp(2 * MAX_SYSCALLS, 16 * MAX_SYSCALLS);
    Ok(Form { entries: entries as u32, ..SYSCALLS })
}

fn joined(opening: JoinHandle<io::Result<()>>) -> io::Result<()> {
    opening.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(cgroup) = self.cgroup {
            let _ = self.set.cgroups.remove(&cgroup.to_ne_bytes());
        }
        // From now on, new threads are not added.
        let _ = self.set.sessions.remove(&self.id.to_ne_bytes());
        // The entry would keep the counters in memory. Without another session the set is about to end with all its entries,
        // so that nothing waits for the kernel. A session that is opened at this moment inherits the entry, like those of
        // recorders that were killed.
        if !matches!(self.set.sessions.next_key(None), Ok(None)) {
            let _ = self.stop();
        }
        let _ = self.opening.take().map(joined);
        if self.splits {
            let _ = self.forget_executables();
        }
        if self.has_adopted {
            let _ = self.forget_threads();
        }
    }
}

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

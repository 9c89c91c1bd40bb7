//! One set of programs for all recorders.
//!
//! Tracepoints are those of the whole machine, and every program there costs every process. So a recorder looks for
//! the programs of another one before it loads its own, and opens a [`Session`] among them.
//!
//! Two that start at the same time both load a set; then both look again, and take the older one.
//!
//! Programs, their links and their maps end in the kernel when nobody has a descriptor of them any more. Each
//! recorder has descriptors of all of them: whichever ends first or is killed, the others are not concerned. There
//! is nothing to be counted or cleaned up, and no file. A recorder that is killed leaves its session: its map of calls
//! stays until the set ends, and at [`MAX_SESSIONS`] the next recorder loads a set of its own.
//!
//! Found are programs whose name has a hash of their code and of the forms of their maps, so another version of
//! Callgate has other names; and only those that the same user loaded, in the first namespace of users. Root of
//! a container without a user namespace of its own is that user: with CAP_BPF and CAP_PERFMON it could load such
//! programs, and so change what is recorded; but with these it can read the kernel's memory anyway. Looking for them needs CAP_SYS_ADMIN, and without it a
//! recorder loads its own.

use std::collections::BTreeMap;
use std::io;

use super::asm::Insn;
use super::kernel::{self, Form, Map, MapKind, Name, Program};
use super::programs::{self, CALL_WORDS, Maps, Offsets, THREAD_WORDS, session};
use super::{BpfError, MAX_CALLS, MAX_THREADS, TRACEPOINTS};

/// How many recorders one set serves, together with those that were killed meanwhile.
const MAX_SESSIONS: u32 = 64;

const THREADS: Form = Form {
    kind: MapKind::Hash,
    key_size: 4,
    value_size: 8 * THREAD_WORDS as u32,
    entries: MAX_THREADS,
};
const SESSIONS: Form = Form {
    kind: MapKind::Hash,
    key_size: 8,
    value_size: 8 * session::ALL as u32,
    entries: MAX_SESSIONS,
};
const MAPS_OF_CALLS: Form =
    Form { kind: MapKind::HashOfMaps, key_size: 8, value_size: 4, entries: MAX_SESSIONS };
const CALLS: Form = Form {
    kind: MapKind::PerCpuHash,
    key_size: 8,
    value_size: 8 * CALL_WORDS as u32,
    entries: MAX_CALLS as u32,
};
const ZERO: Form =
    Form { kind: MapKind::Array, key_size: 4, value_size: 8 * CALL_WORDS as u32, entries: 1 };

/// What is loaded, before it is.
pub(super) struct Plan {
    offsets: Offsets,
    /// The types of the tracepoints.
    targets: [u32; 5],
    hash: u64,
}

impl Plan {
    pub(super) fn new(offsets: Offsets, targets: [u32; 5]) -> Plan {
        // The numbers of maps differ from set to set.
        let maps = Maps { threads: 1, sessions: 2, calls: 3, zero: 4 };
        let numbers = [MAX_THREADS, MAX_SESSIONS, MAX_CALLS as u32, TRACEPOINTS.len() as u32];
        let code = code(maps, offsets);
        let words = code.iter().flatten().map(|insn| insn.word());
        let words = words.chain(numbers.map(u64::from)).chain(targets.map(u64::from));
        // FNV-1a.
        let hash = words.flat_map(u64::to_ne_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Plan { offsets, targets, hash }
    }

    /// The name of a part.
    fn name(&self, part: char) -> Name {
        let text = format!("cg{:012x}{part}", self.hash >> 16);
        let mut name = Name::default();
        name.iter_mut().zip(text.bytes().take(15)).for_each(|(to, from)| *to = from);
        name
    }

    /// Whose name this is among the programs.
    fn program_of(&self, name: &Name) -> Option<usize> {
        ('0'..='4').position(|part| self.name(part) == *name)
    }
}

fn code(maps: Maps, offsets: Offsets) -> [Vec<Insn>; 5] {
    [
        programs::fork(maps, offsets),
        programs::exec(maps, offsets),
        programs::exit(maps, offsets),
        programs::leave(maps, offsets),
        programs::enter(maps, offsets),
    ]
}

/// Programs that run, and their maps.
pub(super) struct Set {
    pub(super) threads: Map,
    sessions: Map,
    calls: Map,
    _zero: Map,
    programs: Vec<Program>,
}

impl Set {
    /// Loads programs, which run from now on.
    pub(super) fn load(plan: &Plan) -> Result<Set, BpfError> {
        let new = |form, part| Map::new(form, &plan.name(part)).map_err(BpfError::Map);
        let template = new(CALLS, 'e')?;
        let (threads, sessions) = (new(THREADS, 't')?, new(SESSIONS, 's')?);
        let calls = Map::of_maps(MAPS_OF_CALLS, &plan.name('c'), &template);
        let (calls, zero) = (calls.map_err(BpfError::Map)?, new(ZERO, 'z')?);
        let maps = Maps {
            threads: threads.descriptor(),
            sessions: sessions.descriptor(),
            calls: calls.descriptor(),
            zero: zero.descriptor(),
        };
        let code = code(maps, plan.offsets);
        let places = TRACEPOINTS.into_iter().zip(plan.targets).zip('0'..);
        let load = |(((place, target), part), code): (((&'static str, u32), char), &Vec<Insn>)| {
            Program::new(code, target, &plan.name(part))
                .map_err(|refused| BpfError::Program(place, refused))
        };
        let programs = places.zip(&code).map(load).collect::<Result<_, _>>()?;
        Ok(Set { threads, sessions, calls, _zero: zero, programs })
    }

    /// The oldest set; `None` where there is none, or it may not be looked for. The program that is attached last
    /// says how old it is: numbers of links grow. So whoever has just loaded a set finds it, or one that is older.
    pub(super) fn find(plan: &Plan) -> Option<Set> {
        /// The program that has all maps.
        const ENTER: usize = 4;
        let mut sets: BTreeMap<u32, Parts> = BTreeMap::new();
        for link in kernel::links() {
            // It may have ended in the meantime.
            let Ok(Some((program, name, maps))) = Program::of_link(link) else { continue };
            let Some(place) = plan.program_of(&name) else { continue };
            let Some((threads, _)) = map(&maps, THREADS, &plan.name('t')) else { continue };
            let parts = sets.entry(threads).or_default();
            parts.programs[place] = Some(program);
            if place == ENTER {
                (parts.last_link, parts.maps) = (link, maps);
            }
        }
        let mut sets: Vec<Parts> = sets.into_values().collect();
        sets.sort_by_key(|parts| parts.last_link);
        // One that is just being loaded has not all programs as yet.
        sets.into_iter().find_map(|Parts { programs, maps, .. }| {
            let programs = programs.into_iter().collect::<Option<Vec<_>>>()?;
            let find = |form, part| map(&maps, form, &plan.name(part)).map(|(_, map)| map);
            Some(Set {
                threads: find(THREADS, 't')?,
                sessions: find(SESSIONS, 's')?,
                calls: find(MAPS_OF_CALLS, 'c')?,
                _zero: find(ZERO, 'z')?,
                programs,
            })
        })
    }

    /// Its number, as long as it lives.
    #[cfg(test)]
    fn id(&self) -> u32 {
        self.threads.id().unwrap()
    }

    /// How often programs were not run because they were running already on the processor.
    fn misses(&self) -> io::Result<u64> {
        self.programs.iter().map(Program::misses).sum()
    }
}

/// What was found of a set.
#[derive(Default)]
struct Parts {
    programs: [Option<Program>; 5],
    last_link: u32,
    maps: Vec<u32>,
}

/// The map of this form and name among those of these numbers.
fn map(ids: &[u32], form: Form, name: &Name) -> Option<(u32, Map)> {
    let mut found = ids.iter().filter_map(|id| Some((*id, Map::by_id(*id, form, name).ok()??)));
    found.next()
}

/// What a recorder has in a set. It ends with the value.
pub(super) struct Session {
    set: Set,
    id: u64,
    secret: u64,
    /// Values in `calls` are xor this.
    pub(super) key: u64,
    pub(super) calls: Map,
    misses_before: u64,
}

impl Session {
    pub(super) fn new(set: Set, plan: &Plan) -> io::Result<Session> {
        let calls = Map::new(CALLS, &plan.name('e'))?;
        let [id, secret, key] = kernel::random()?;
        let misses_before = set.misses()?;
        let session = Session { set, id, secret, key, calls, misses_before };
        let mut words = [0; session::ALL];
        words[session::SECRET as usize] = secret;
        words[session::KEY as usize] = key;
        session.set.sessions.insert(&id.to_ne_bytes(), &words)?;
        session.set.calls.insert(&id.to_ne_bytes(), &[session.calls.descriptor() as u64])?;
        Ok(session)
    }

    /// The arguments of the call by which a thread gets in.
    pub(super) fn cookie(&self) -> [u64; 2] {
        [self.id, self.secret]
    }

    /// What is counted beside calls ([`session`]).
    pub(super) fn words(&self) -> io::Result<[u64; session::ALL]> {
        let words = self.set.sessions.get(&self.id.to_ne_bytes())?;
        let words = words.and_then(|words| words.try_into().ok());
        words.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    #[cfg(test)]
    pub(super) fn set_words(&self, words: [u64; session::ALL]) {
        self.set.sessions.insert(&self.id.to_ne_bytes(), &words).unwrap();
    }

    /// Calls that programs missed meanwhile, perhaps those of others.
    pub(super) fn misses(&self) -> io::Result<u64> {
        Ok(self.set.misses()?.saturating_sub(self.misses_before))
    }

    /// One of its threads; others that come and go may hide them for a moment.
    pub(super) fn thread(&self) -> io::Result<Option<Vec<u8>>> {
        let mut key = None;
        for _ in 0..MAX_THREADS {
            key = self.set.threads.next_key(key.as_deref())?;
            let Some(thread) = &key else { break };
            let value = self.set.threads.get(thread)?;
            if value.is_some_and(|value| value.get(1) == Some(&self.id)) {
                return Ok(key);
            }
        }
        Ok(None)
    }

    /// Gives a thread of it this state.
    pub(super) fn set_state(&self, thread: &[u8], state: u64) -> io::Result<()> {
        self.set.threads.insert(thread, &[state, self.id, self.key])
    }

    /// Forgets a thread; whether it was known.
    pub(super) fn forget(&self, thread: &[u8]) -> io::Result<bool> {
        self.set.threads.remove(thread)
    }

    /// Nothing is counted any more when this returns.
    pub(super) fn stop(&self) -> io::Result<()> {
        // The kernel waits for programs that are just running (`maybe_wait_bpf_programs`).
        self.set.calls.remove(&self.id.to_ne_bytes()).map(drop)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.stop();
        let _ = self.set.sessions.remove(&self.id.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Recorder;
    use super::*;

    #[test]
    fn recorders_share_a_set_that_lives_as_long_as_one_of_them() {
        let new = || match Recorder::new() {
            Ok(recorder) => Some(recorder),
            Err(why) => {
                eprintln!("not run: {why}");
                None
            }
        };
        let (Some(first), Some(second)) = (new(), new()) else { return };
        if kernel::links().next().is_none() {
            return eprintln!("not run: links cannot be looked for");
        }
        let id = |recorder: &Recorder| recorder.session.set.id();
        let set = id(&first);
        assert_eq!(id(&second), set);
        // Sessions are apart.
        assert_ne!(first.session.cookie(), second.session.cookie());
        drop(first);
        let third = new().unwrap();
        assert_eq!((id(&second), id(&third)), (set, set));
        drop(third);
        // A session that has ended leaves nothing.
        let cookie = second.session.cookie()[0].to_ne_bytes();
        let sessions = |recorder: &Recorder| recorder.session.set.sessions.get(&cookie).unwrap();
        assert!(sessions(&second).is_some());
        let last = new().unwrap();
        drop(second);
        assert_eq!(sessions(&last), None);
        assert_eq!(id(&last), set);
    }

    #[test]
    fn other_code_has_other_names() {
        let offsets = |pid| Offsets { pid, tgid: 8, status: 16, exit_code: 24, flags: 32 };
        let plan = Plan::new(offsets(4), [1, 2, 3, 4, 5]);
        for (part, place) in ['0', '1', '2', '3', '4'].into_iter().zip(0..) {
            assert_eq!(plan.program_of(&plan.name(part)), Some(place));
        }
        let other = Plan::new(offsets(12), [1, 2, 3, 4, 5]);
        assert_eq!(plan.program_of(&other.name('0')), None);
        let name = plan.name('t');
        assert!(name[..15].iter().all(u8::is_ascii_alphanumeric) && name[15] == 0);
    }
}

//! One set of eBPF programs for all recorders, and what the programs must know of the kernel's types.
//!
//! Tracepoints belong to the whole machine, and every program there slows every process. So a recorder looks for the
//! programs of another recorder before it loads its own, and opens a session ([`super::session`]) in that set. Two
//! recorders that start at the same time both load a set; both then look again and use the older one.
//!
//! The kernel frees programs, links and maps when the last descriptor is closed. Each recorder has descriptors of all of
//! them, so when one ends or is killed, the others continue. There is no reference count to maintain and no file to
//! clean up. A recorder that is killed leaves its session: its counters stay until the set ends. After
//! [`MAX_SESSIONS`], the next recorder loads a set of its own.
//!
//! The name of a program contains a hash of the code and of the maps, so other versions of Callgate use other names. Only
//! programs that the same user of the initial user namespace loaded are used. Root in a container without a user
//! namespace is that user: with CAP_BPF and CAP_PERFMON it could load such programs and falsify a recording, but these
//! capabilities also give it access to the kernel's memory. Looking for programs needs CAP_SYS_ADMIN; without it, the
//! recorders of a process share a set ([`SharedSet`]), and other processes load their own.

use std::collections::BTreeMap;
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Builder};

use super::asm::{Code, function_types};
use super::btf::{Btf, TypesFile, Wanted};
use super::error::BpfError;
use super::kernel::{self, Form, Loaded, Map, MapKind, Name, Program, Types};
use super::layout::{
    CALL_WORDS, CGROUP_WORDS, COUNTER_KEY, EXECUTABLE_KEY, EXECUTABLE_WORDS, Maps, Offsets,
    THREAD_WORDS, session,
};
use super::programs;
use crate::tally::{MAX_EXECUTABLES, MAX_SYSCALLS, MAX_THREADS};

/// How many sessions a set can have, including those of recorders that were killed.
const MAX_SESSIONS: u32 = 64;

/// How many executables of all sessions have a number, with the others of each session.
pub(super) const MAX_NAMED: u32 = MAX_SESSIONS * (MAX_EXECUTABLES as u32 + 1);

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
const MAPS_OF_SYSCALLS: Form =
    Form { kind: MapKind::HashOfMaps, key_size: 8, value_size: 4, entries: MAX_SESSIONS };
pub(super) const SYSCALLS: Form = Form {
    kind: MapKind::PerCpuHash,
    key_size: COUNTER_KEY as u32,
    value_size: 8 * CALL_WORDS as u32,
    entries: MAX_SYSCALLS as u32,
};
const CGROUPS: Form = Form {
    kind: MapKind::Hash,
    key_size: 8,
    value_size: 8 * CGROUP_WORDS as u32,
    entries: MAX_SESSIONS,
};
pub(super) const EXECUTABLES: Form = Form {
    kind: MapKind::Hash,
    key_size: EXECUTABLE_KEY as u32,
    value_size: 8 * EXECUTABLE_WORDS as u32,
    entries: MAX_NAMED,
};
const ZERO: Form =
    Form { kind: MapKind::Array, key_size: 4, value_size: 8 * CALL_WORDS as u32, entries: 1 };

/// Everything that determines a set before it is loaded.
pub(super) struct Plan {
    offsets: Offsets,
    /// The types of the tracepoints.
    targets: [u32; 5],
    hash: u64,
}

impl Plan {
    pub(super) fn new(offsets: Offsets, targets: [u32; 5]) -> Plan {
        // Descriptors differ between sets, so the hash uses fixed ones.
        let maps =
            Maps { threads: 1, sessions: 2, syscalls: 3, cgroups: 4, executables: 5, zero: 6 };
        let tracepoints = TRACEPOINTS.len() as u32;
        let numbers = [MAX_THREADS, MAX_SESSIONS, MAX_NAMED, MAX_SYSCALLS as u32, tracepoints];
        let code = code(maps, offsets);
        let words = code.iter().flat_map(|code| &code.insns).map(|insn| insn.word());
        let words = words.chain(numbers.map(u64::from)).chain(targets.map(u64::from));
        // FNV-1a.
        let hash = words.flat_map(u64::to_ne_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        Plan { offsets, targets, hash }
    }

    /// The name of a program or map.
    pub(super) fn name(&self, part: char) -> Name {
        let text = format!("cg{:012x}{part}", self.hash >> 16);
        let mut name = Name::default();
        name.iter_mut().zip(text.bytes().take(15)).for_each(|(to, from)| *to = from);
        name
    }

    /// The index of the program with this name.
    fn program_of(&self, name: &Name) -> Option<usize> {
        ('0'..='4').position(|part| self.name(part) == *name)
    }
}

fn code(maps: Maps, offsets: Offsets) -> [Code; 5] {
    [
        programs::fork(maps, offsets),
        programs::exec(maps, offsets),
        programs::exit(maps, offsets),
        programs::leave(maps, offsets),
        programs::enter(maps, offsets),
    ]
}

/// Attached programs and their maps.
pub(super) struct Set {
    pub(super) threads: Map,
    pub(super) sessions: Map,
    pub(super) syscalls: Map,
    pub(super) cgroups: Map,
    pub(super) executables: Map,
    _zero: Map,
    programs: Vec<Program>,
}

impl Set {
    /// Loads and attaches the programs.
    pub(super) fn load(plan: &Plan) -> Result<Set, BpfError> {
        let new = |form, part| Map::new(form, &plan.name(part)).map_err(BpfError::Map);
        // The kernel compares the sizes of keys and values with those of the template, not the numbers of entries
        // (`bpf_map_meta_equal`), and allocates all entries at once.
        let template = new(Form { entries: 1, ..SYSCALLS }, 'e')?;
        let (threads, sessions) = (new(THREADS, 't')?, new(SESSIONS, 's')?);
        let syscalls = Map::of_maps(MAPS_OF_SYSCALLS, &plan.name('c'), &template);
        let syscalls = syscalls.map_err(BpfError::Map)?;
        let (cgroups, executables) = (new(CGROUPS, 'g')?, new(EXECUTABLES, 'x')?);
        let zero = new(ZERO, 'z')?;
        let maps = Maps {
            threads: threads.descriptor(),
            sessions: sessions.descriptor(),
            syscalls: syscalls.descriptor(),
            cgroups: cgroups.descriptor(),
            executables: executables.descriptor(),
            zero: zero.descriptor(),
        };
        let code = code(maps, plan.offsets);
        let types = Types::new(&function_types()).map_err(BpfError::Types)?;
        let parts: Vec<_> = code.iter().zip(plan.targets).zip('0'..).collect();
        // The verifier takes most of the time of a recorder's start.
        let loaded = each_in_parallel(&parts, |&((code, target), part)| {
            Loaded::new(code, &types, target, &plan.name(part))
        });
        // In this order ([`Set::find`]).
        let attach = |(place, loaded): (_, Result<Loaded, _>)| {
            loaded.and_then(Loaded::attach).map_err(|refused| BpfError::Program(place, refused))
        };
        let programs = TRACEPOINTS.into_iter().zip(loaded).map(attach).collect::<Result<_, _>>()?;
        Ok(Set { threads, sessions, syscalls, cgroups, executables, _zero: zero, programs })
    }

    /// The oldest set; `None` if there is none or the privilege to look is missing. The age is the number of the link
    /// of the program that is attached last: these numbers increase. So after loading a set, this finds that one or an
    /// older one.
    pub(super) fn find(plan: &Plan) -> Option<Set> {
        /// The program that is attached last.
        const ENTER: usize = 4;
        let mut sets: BTreeMap<u32, Parts> = BTreeMap::new();
        for link in kernel::links() {
            // It may have ended meanwhile.
            let Ok(Some((program, name, maps))) = Program::of_link(link) else { continue };
            let Some(place) = plan.program_of(&name) else { continue };
            let Some((threads, _)) = map(&maps, THREADS, &plan.name('t')) else { continue };
            let parts = sets.entry(threads).or_default();
            parts.programs[place] = Some(program);
            parts.maps.extend(maps);
            if place == ENTER {
                parts.last_link = link;
            }
        }
        let mut sets: Vec<Parts> = sets.into_values().collect();
        sets.sort_by_key(|parts| parts.last_link);
        // A set that is being loaded is incomplete.
        sets.into_iter().find_map(|Parts { programs, maps, .. }| {
            let programs = programs.into_iter().collect::<Option<Vec<_>>>()?;
            let find = |form, part| map(&maps, form, &plan.name(part)).map(|(_, map)| map);
            Some(Set {
                threads: find(THREADS, 't')?,
                sessions: find(SESSIONS, 's')?,
                syscalls: find(MAPS_OF_SYSCALLS, 'c')?,
                cgroups: find(CGROUPS, 'g')?,
                executables: find(EXECUTABLES, 'x')?,
                _zero: find(ZERO, 'z')?,
                programs,
            })
        })
    }

    /// The ID of a map, which identifies the set.
    #[cfg(test)]
    fn id(&self) -> u32 {
        self.threads.id().unwrap()
    }

    /// How often the kernel skipped a program because it was already running on the same processor.
    pub(super) fn misses(&self) -> io::Result<u64> {
        self.programs.iter().map(Program::misses).sum()
    }
}

/// The set that recorders of this process used last, while one of them still does: it needs not be looked for, nor the
/// privilege to look.
pub(super) struct SharedSet(MutexGuard<'static, Weak<Set>>);

impl SharedSet {
    /// Other recorders of this process wait meanwhile, so that they find what this one loads.
    pub(super) fn lock() -> SharedSet {
        static LAST: Mutex<Weak<Set>> = Mutex::new(Weak::new());
        SharedSet(LAST.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The set, if a recorder still uses it.
    pub(super) fn get(&self) -> Option<Arc<Set>> {
        self.0.upgrade()
    }

    /// From now on, this is the set.
    pub(super) fn remember(&mut self, set: &Arc<Set>) {
        *self.0 = Arc::downgrade(set);
    }
}

/// The parts of a set that were found.
#[derive(Default)]
struct Parts {
    programs: [Option<Program>; 5],
    last_link: u32,
    /// Those of all programs.
    maps: Vec<u32>,
}

/// The map with this form and name among these IDs.
fn map(ids: &[u32], form: Form, name: &Name) -> Option<(u32, Map)> {
    let mut found = ids.iter().filter_map(|id| Some((*id, Map::by_id(*id, form, name).ok()??)));
    found.next()
}

/// The tracepoints, by the names of their types in the kernel.
const TRACEPOINTS: [&str; 5] = [
    "btf_trace_sched_process_fork",
    "btf_trace_sched_process_exec",
    "btf_trace_sched_process_exit",
    "btf_trace_sys_exit",
    "btf_trace_sys_enter",
];

/// Looks up the offsets of structure members, and the types of [`TRACEPOINTS`].
pub(super) fn look_up_types() -> Result<(Offsets, [u32; 5]), BpfError> {
    let [fork, exec, exit, leave, enter] = TRACEPOINTS.map(Wanted::Typedef);
    let wanted = [
        Wanted::Member("task_struct", "pid"),
        Wanted::Member("task_struct", "tgid"),
        Wanted::Member("task_struct", "thread_info"),
        Wanted::Member("thread_info", "status"),
        Wanted::Member("task_struct", "exit_code"),
        Wanted::Member("task_struct", "flags"),
        Wanted::Member("linux_binprm", "filename"),
        fork,
        exec,
        exit,
        leave,
        enter,
    ];
    let file = TypesFile::open().map_err(BpfError::NoTypes)?;
    let found = Btf::new(&file).ok_or(BpfError::NoType("a header"))?.find(wanted);
    if let Some((_, missing)) = found.iter().zip(wanted).find(|(found, _)| found.is_none()) {
        return Err(BpfError::NoType(missing.name()));
    }
    let [pid, tgid, thread_info, status, exit_code, flags, filename, targets @ ..] =
        found.map(Option::unwrap_or_default);
    // The offset of a load is a signed 16-bit number.
    let reach =
        |offset: u32| i16::try_from(offset).map_err(|_| BpfError::NoType("members in reach"));
    let offsets = Offsets {
        pid: reach(pid)?,
        tgid: reach(tgid)?,
        status: reach(thread_info.saturating_add(status))?,
        exit_code: reach(exit_code)?,
        flags: reach(flags)?,
        filename: reach(filename)?,
    };
    Ok((offsets, targets))
}

/// Calls the function for each item, in threads of their own as far as there can be threads; the results are in the order of
/// the items.
fn each_in_parallel<I: Sync, T: Send>(items: &[I], function: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let function = &function;
    thread::scope(|scope| {
        let start =
            |item| Builder::new().spawn_scoped(scope, move || function(item)).map_err(|_| item);
        let started: Vec<_> = items.iter().map(start).collect();
        let result = |started: Result<thread::ScopedJoinHandle<'_, T>, &I>| match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(item) => function(item),
        };
        started.into_iter().map(result).collect()
    })
}

#[cfg(test)]
mod tests {
    use crate::bpf::recorder::Recorder;

    use super::*;

    #[test]
    #[ignore = "needs root: loads eBPF programs"]
    fn recorders_share_a_set_that_lives_as_long_as_one_of_them() {
        let new = || Recorder::new(false).unwrap();
        let (first, second) = (new(), new());
        assert!(kernel::links().next().is_some(), "listing links needs CAP_SYS_ADMIN");
        let id = |recorder: &Recorder| recorder.session.set.id();
        let set = id(&first);
        assert_eq!(id(&second), set);
        // Sessions are separate.
        assert_ne!(first.session.cookie(), second.session.cookie());
        drop(first);
        let third = new();
        assert_eq!((id(&second), id(&third)), (set, set));
        drop(third);
        // A session that ends removes its entries.
        let cookie = second.session.cookie()[0].to_ne_bytes();
        let sessions = |recorder: &Recorder| recorder.session.set.sessions.get(&cookie).unwrap();
        assert!(sessions(&second).is_some());
        let last = new();
        drop(second);
        assert_eq!(sessions(&last), None);
        assert_eq!(last.session.set.syscalls.get(&cookie).unwrap(), None);
        assert_eq!(id(&last), set);
    }

    #[test]
    fn other_code_has_other_names() {
        let offsets =
            |pid| Offsets { pid, tgid: 8, status: 16, exit_code: 24, flags: 32, filename: 40 };
        let plan = Plan::new(offsets(4), [1, 2, 3, 4, 5]);
        for (part, place) in ['0', '1', '2', '3', '4'].into_iter().zip(0..) {
            assert_eq!(plan.program_of(&plan.name(part)), Some(place));
        }
        let other = Plan::new(offsets(12), [1, 2, 3, 4, 5]);
        assert_eq!(plan.program_of(&other.name('0')), None);
        let name = plan.name('t');
        assert!(name[..15].iter().all(u8::is_ascii_alphanumeric) && name[15] == 0);
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        assert_eq!(each_in_parallel(&[1, 2, 3], |item| item * item), [1, 4, 9]);
        assert_eq!(each_in_parallel(&[(); 0], |()| 1), [0; 0]);
    }
}

//! The eBPF programs of the recorder.
//!
//! | program | tracepoint | task |
//! |---|---|---|
//! | enter | `sys_enter` | counts the syscall, if the thread is recorded |
//! | leave | `sys_exit` | counts a syscall that a filter of the command denied, which never reaches `sys_enter` |
//! | fork | `sched_process_fork` | adds the new thread of a recorded one |
//! | exec | `sched_process_exec` | moves the entry of a thread that takes over the number of the main thread |
//! | exit | `sched_process_exit` | removes the thread; counts the syscall for which a filter killed this thread alone |
//!
//! One set of these programs serves several recorders at a time ([`super::set`]). Each recorder has a session, which is
//! a random number: its key in the map `sessions`, and in `syscalls`, a map of maps, the key of its counters.
//!
//! The map `threads` has the recorded threads, by their numbers in the initial PID namespace. A value consists of a
//! state ([`state`]), the session, and the key that masks argument values; programs copy it to their stack. The first
//! thread of a command is added by a syscall with two random arguments, the session and its secret, which works in any
//! PID namespace, unless the thread belongs to another session. When the recorder has seen that its syscalls are
//! counted, it sets the state [`state::BEFORE_EXECVE`]; the counters then start with its `execve`.
//!
//! Threads of running processes are added by the recorder ([`super::seed`]). The map `cgroups` has recorded cgroups: a
//! process in one of them, or below, is added by its `execve`. So a process that enters a container from outside is
//! recorded from its own program on, and not while it still runs the code of the container's runtime.
//!
//! Counters are in a per-processor map, by ABI and syscall number. Nothing preempts a program at these tracepoints, so
//! no two programs write the same memory; where a kernel allows that, it skips the second program and counts the
//! misses. A value has a count and, for each argument, the different values in order of appearance up to a limit, and
//! then bounds of the others:
//!
//! ```text
//! count, 6 × (length or 33, min, max, ever, always, 32 values)
//! ```
//!
//! The 32 values are stored xor a secret random number, the key. So an empty slot, 0, equals none of them, and the
//! search need not check the length.
//!
//! Sources: `syscall_trace_enter` and `syscall_exit_work` in `kernel/entry/`, `__seccomp_filter` in
//! `kernel/seccomp.c`, `kernel_clone` in `kernel/fork.c`, `do_exit` in `kernel/exit.c`, `get_signal` in
//! `kernel/signal.c`, `exec_binprm` in `fs/exec.c`.

use super::asm::Helper::{
    AncestorCgroup, CurrentPidTgid, CurrentTask, MapDelete, MapLookup, MapUpdate, TaskRegisters,
};
use super::asm::Size::{Double, Word};
use super::asm::{
    Alu, Asm, Cond, FP, Helper, Insn, Label, Operand, R0, R1, R2, R3, R4, R6, R7, R8, R9, Reg,
};

/// How many different values of an argument are stored; bounds describe the others.
pub(super) const SLOTS: i16 = callgate::recording::MAX_VALUES as i16;
/// The length that indicates bounds.
pub(super) const OVERFULL: i32 = SLOTS as i32 + 1;
/// Words per argument: length, four bounds, values.
pub(super) const ARG_WORDS: i16 = 5 + SLOTS;
/// Words per syscall.
pub(super) const CALL_WORDS: i16 = 1 + 6 * ARG_WORDS;

/// States of a thread.
pub(super) mod state {
    /// After *leave*.
    pub(in super::super) const OUTSIDE: i32 = 0;
    /// Between *enter* and *leave*; also a new thread, which first leaves the syscall of its parent.
    pub(in super::super) const IN_SYSCALL: i32 = 1;
    /// Nothing is counted before its `execve`.
    pub(in super::super) const BEFORE_EXECVE: i32 = 2;
    /// Added by the recorder while it ran: it may be in a syscall whose start was not seen.
    pub(in super::super) const ATTACHED: i32 = 3;
    /// In the `execve` by which it joins the session of its cgroup, unless that fails.
    pub(in super::super) const JOINS: i32 = 4;
}

/// How many levels of cgroups are searched for a recorded one.
pub(crate) const CGROUP_LEVELS: i32 = 16;

/// Words per cgroup: session, key of values.
pub(super) const CGROUP_WORDS: usize = 2;

/// Words per thread: state, session, key of values.
pub(super) const THREAD_WORDS: usize = 3;

/// Words per session.
pub(super) mod session {
    /// The second argument of the syscall that adds the first thread.
    pub(in super::super) const SECRET: i16 = 0;
    /// Argument values are stored xor this.
    pub(in super::super) const KEY: i16 = 1;
    /// Syscalls without room in the map.
    pub(in super::super) const LOST: i16 = 2;
    /// New processes.
    pub(in super::super) const PROCESSES: i16 = 3;
    /// New threads, including main threads.
    pub(in super::super) const THREADS: i16 = 4;
    /// Threads without room in the map.
    pub(in super::super) const UNSEEN: i16 = 5;
    /// Threads that have ended.
    pub(in super::super) const ENDED: i16 = 6;
    /// Syscalls that a filter denied.
    pub(in super::super) const DENIED: i16 = 7;
    /// The number of words.
    pub(in super::super) const ALL: usize = 8;
}

/// Descriptors of the maps.
#[derive(Clone, Copy)]
pub(super) struct Maps {
    /// Thread → state, session, key of values.
    pub(super) threads: i32,
    /// Session → words of [`session`].
    pub(super) sessions: i32,
    /// Session → its map of counters.
    pub(super) syscalls: i32,
    /// Cgroup → session, key of values.
    pub(super) cgroups: i32,
    /// A value of a map of counters, all zero.
    pub(super) zero: i32,
}

/// Offsets in the kernel's structures.
#[derive(Clone, Copy)]
pub(super) struct Offsets {
    /// In `task_struct`.
    pub(super) pid: i16,
    pub(super) tgid: i16,
    /// `thread_info.status` in `task_struct`.
    pub(super) status: i16,
    /// In `task_struct`.
    pub(super) exit_code: i16,
    pub(super) flags: i16,
}

/// `TS_COMPAT` of `arch/x86/include/asm/thread_info.h`: the task is in a syscall of the 32-bit ABI.
const TS_COMPAT: i32 = 2;
/// `PF_SIGNALED` of `include/linux/sched.h`: the task ends by a signal, as its whole process does.
const PF_SIGNALED: i32 = 0x400;

/// Offsets of registers in `struct pt_regs` of x86-64, which has the layout of ptrace's registers.
mod regs {
    pub(super) const ORIG_AX: i16 = 120;
    /// The arguments in the 64-bit ABI.
    pub(super) const ARGS: [i16; 6] = [112, 104, 96, 56, 72, 64];
    /// The arguments in the 32-bit ABI: bx, cx, dx, si, di, bp.
    pub(super) const COMPAT_ARGS: [i16; 6] = [40, 88, 96, 104, 112, 32];
}

/// Stack slots.
mod stack {
    /// ABI and syscall number: the key of a counter.
    pub(super) const SYSCALL: i16 = -8;
    pub(super) const ARGS: i16 = -56;
    /// A key of four bytes.
    pub(super) const SMALL: i16 = -64;
    pub(super) const THREAD: i16 = -72;
    /// The number of a cgroup.
    pub(super) const CGROUP: i16 = -104;
    /// A value of the map of threads: state, session, key of values.
    pub(super) const STATE: i16 = -96;
    pub(super) const SESSION: i16 = -88;
    pub(super) const KEY: i16 = -80;
}

/// The program at `sys_enter`, whose arguments are the registers and the syscall number.
pub(super) fn enter(maps: Maps, offsets: Offsets) -> Vec<Insn> {
    let mut asm = Asm::default();
    let (end, known, counts) = (asm.label(), asm.label(), asm.label());
    let (joins, counted) = (asm.label(), asm.label());
    asm.load(Double, R6, R1, 0);
    asm.load(Double, R7, R1, 8);
    current_thread(&mut asm, maps);
    asm.jump_if(Cond::Ne, R0, 0, known);
    asm.jump_if(Cond::Eq, R7, libc::SYS_execve as i32, joins);
    asm.jump_if(Cond::Eq, R7, libc::SYS_execveat as i32, joins);
    asm.jump_if(Cond::Ne, R7, libc::SYS_getppid as i32, end);
    asm.load(Double, R1, R6, regs::ARGS[0]);
    asm.store(Double, FP, stack::SESSION, R1);
    map_call(&mut asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Double, R1, R6, regs::ARGS[1]);
    asm.load(Double, R2, R0, 8 * session::SECRET);
    asm.jump_if(Cond::Ne, R1, R2, end);
    asm.load(Double, R1, R0, 8 * session::KEY);
    asm.store(Double, FP, stack::KEY, R1);
    insert_thread(&mut asm, maps, state::IN_SYSCALL);
    asm.jump(end);
    asm.here(joins);
    join_by_cgroup(&mut asm, maps, offsets, end);
    asm.jump(counted);
    asm.here(known);
    asm.load(Word, R1, R0, 0);
    asm.jump_if(Cond::Ne, R1, state::BEFORE_EXECVE, counts);
    asm.jump_if(Cond::Ne, R7, libc::SYS_execve as i32, end);
    asm.here(counts);
    asm.store(Word, R0, 0, state::IN_SYSCALL);
    take_session(&mut asm);
    asm.here(counted);
    count_syscall(&mut asm, maps, offsets);
    asm.here(end);
    asm.exit();
    asm.finish()
}

/// The program at `sys_exit`, whose arguments are the registers and the result.
pub(super) fn leave(maps: Maps, offsets: Offsets) -> Vec<Insn> {
    let mut asm = Asm::default();
    let (end, denied, joins, failed) = (asm.label(), asm.label(), asm.label(), asm.label());
    asm.load(Double, R6, R1, 0);
    asm.load(Double, R8, R1, 8);
    current_thread(&mut asm, maps);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Word, R1, R0, 0);
    asm.jump_if(Cond::Eq, R1, state::OUTSIDE, denied);
    asm.jump_if(Cond::Eq, R1, state::BEFORE_EXECVE, end);
    asm.jump_if(Cond::Eq, R1, state::JOINS, joins);
    asm.store(Word, R0, 0, state::OUTSIDE);
    asm.jump(end);
    asm.here(joins);
    asm.jump_if(Cond::Ne, R8, 0, failed);
    asm.store(Word, R0, 0, state::OUTSIDE);
    take_session(&mut asm);
    increment(&mut asm, maps, session::PROCESSES);
    increment(&mut asm, maps, session::THREADS);
    asm.jump(end);
    asm.here(failed);
    map_call(&mut asm, MapDelete, maps.threads, stack::THREAD);
    asm.jump(end);
    asm.here(denied);
    take_session(&mut asm);
    count_denied(&mut asm, maps, offsets, end);
    asm.here(end);
    asm.exit();
    asm.finish()
}

/// The program at `sched_process_fork`, whose arguments are the current task and the new one, which does not run yet.
pub(super) fn fork(maps: Maps, offsets: Offsets) -> Vec<Insn> {
    let mut asm = Asm::default();
    let (end, thread, inserted) = (asm.label(), asm.label(), asm.label());
    asm.load(Double, R7, R1, 8);
    current_thread(&mut asm, maps);
    asm.jump_if(Cond::Eq, R0, 0, end);
    take_session(&mut asm);
    // Threads of a session that has ended are not recorded.
    map_call(&mut asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Word, R6, R7, offsets.pid);
    asm.load(Word, R8, R7, offsets.tgid);
    asm.jump_if(Cond::Ne, R6, R8, thread);
    increment(&mut asm, maps, session::PROCESSES);
    asm.here(thread);
    increment(&mut asm, maps, session::THREADS);
    asm.store(Word, FP, stack::THREAD, R6);
    insert_thread(&mut asm, maps, state::IN_SYSCALL);
    asm.jump_if(Cond::Eq, R0, 0, inserted);
    increment(&mut asm, maps, session::UNSEEN);
    asm.here(inserted);
    asm.here(end);
    asm.exit();
    asm.finish()
}

/// The program at `sched_process_exec`, whose arguments are the task and its former number.
pub(super) fn exec(maps: Maps, offsets: Offsets) -> Vec<Insn> {
    let mut asm = Asm::default();
    let end = asm.label();
    asm.load(Double, R6, R1, 0);
    asm.load(Double, R7, R1, 8);
    asm.mov32(R7, R7);
    asm.load(Word, R8, R6, offsets.pid);
    asm.jump_if(Cond::Eq, R7, R8, end);
    asm.store(Word, FP, stack::THREAD, R7);
    map_call(&mut asm, MapLookup, maps.threads, stack::THREAD);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Word, R9, R0, 0);
    take_session(&mut asm);
    map_call(&mut asm, MapDelete, maps.threads, stack::THREAD);
    asm.store(Word, FP, stack::THREAD, R8);
    insert_thread(&mut asm, maps, R9);
    asm.jump_if(Cond::Eq, R0, 0, end);
    increment(&mut asm, maps, session::UNSEEN);
    asm.here(end);
    asm.exit();
    asm.finish()
}

/// The program at `sched_process_exit`, whose argument is the task.
pub(super) fn exit(maps: Maps, offsets: Offsets) -> Vec<Insn> {
    let mut asm = Asm::default();
    let (end, forget) = (asm.label(), asm.label());
    asm.load(Double, R7, R1, 0);
    current_thread(&mut asm, maps);
    asm.jump_if(Cond::Eq, R0, 0, end);
    take_session(&mut asm);
    // KILL_PROCESS lets the thread reach `sys_exit`; KILL_THREAD does not.
    asm.load(Word, R1, R0, 0);
    asm.jump_if(Cond::Ne, R1, 0, forget);
    asm.load(Word, R1, R7, offsets.exit_code);
    asm.alu(Alu::And, R1, 0x7f);
    asm.jump_if(Cond::Ne, R1, libc::SIGSYS, forget);
    asm.load(Word, R1, R7, offsets.flags);
    asm.alu(Alu::And, R1, PF_SIGNALED);
    asm.jump_if(Cond::Ne, R1, 0, forget);
    asm.call(CurrentTask);
    asm.mov(R1, R0);
    asm.call(TaskRegisters);
    asm.mov(R6, R0);
    count_denied(&mut asm, maps, offsets, forget);
    asm.here(forget);
    increment(&mut asm, maps, session::ENDED);
    map_call(&mut asm, MapDelete, maps.threads, stack::THREAD);
    asm.here(end);
    asm.exit();
    asm.finish()
}

/// Sets R0 to the entry of the current thread, or 0; leaves the thread's number on the stack.
fn current_thread(asm: &mut Asm, maps: Maps) {
    asm.call(CurrentPidTgid);
    asm.store(Word, FP, stack::THREAD, R0);
    map_call(asm, MapLookup, maps.threads, stack::THREAD);
}

/// Copies the session of the entry in R0 to the stack.
fn take_session(asm: &mut Asm) {
    for (word, place) in [(1, stack::SESSION), (2, stack::KEY)] {
        asm.load(Double, R1, R0, 8 * word);
        asm.store(Double, FP, place, R1);
    }
}

/// Adds the current thread to the session of its cgroup, or of one above; goes to `none` if no session has one.
fn join_by_cgroup(asm: &mut Asm, maps: Maps, offsets: Offsets, none: Label) {
    let (found, joined) = (asm.label(), asm.label());
    // In the 32-bit ABI these numbers are other syscalls.
    asm.call(CurrentTask);
    asm.load(Word, R1, R0, offsets.status);
    asm.alu(Alu::And, R1, TS_COMPAT);
    asm.jump_if(Cond::Ne, R1, 0, none);
    for level in 1..=CGROUP_LEVELS {
        asm.mov(R1, level);
        asm.call(AncestorCgroup);
        asm.jump_if(Cond::Eq, R0, 0, none);
        asm.store(Double, FP, stack::CGROUP, R0);
        map_call(asm, MapLookup, maps.cgroups, stack::CGROUP);
        asm.jump_if(Cond::Ne, R0, 0, found);
    }
    asm.jump(none);
    asm.here(found);
    for (word, place) in [(0, stack::SESSION), (1, stack::KEY)] {
        asm.load(Double, R1, R0, 8 * word);
        asm.store(Double, FP, place, R1);
    }
    insert_thread(asm, maps, state::JOINS);
    asm.jump_if(Cond::Eq, R0, 0, joined);
    increment(asm, maps, session::UNSEEN);
    asm.jump(none);
    asm.here(joined);
}

/// Adds the thread whose number is on the stack to the session that is there, in this state.
fn insert_thread(asm: &mut Asm, maps: Maps, state: impl Into<Operand>) {
    asm.store(Double, FP, stack::STATE, state);
    asm.mov(R3, FP);
    asm.alu(Alu::Add, R3, i32::from(stack::STATE));
    asm.mov(R4, 0);
    map_call(asm, MapUpdate, maps.threads, stack::THREAD);
}

/// Calls a function of a map with a key on the stack.
fn map_call(asm: &mut Asm, helper: Helper, map: i32, key: i16) {
    asm.map(R1, map);
    asm.mov(R2, FP);
    asm.alu(Alu::Add, R2, i32::from(key));
    asm.call(helper);
}

/// Like that, with the map in a register.
fn call_of_map(asm: &mut Asm, helper: Helper, map: Reg, key: i16) {
    asm.mov(R1, map);
    asm.mov(R2, FP);
    asm.alu(Alu::Add, R2, i32::from(key));
    asm.call(helper);
}

/// Adds 1 to a word of the session.
fn increment(asm: &mut Asm, maps: Maps, word: i16) {
    let end = asm.label();
    map_call(asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.mov(R1, 1);
    asm.atomic_add(R0, 8 * word, R1);
    asm.here(end);
}

/// Counts the syscall described by the registers in R6, except number -1, which a tracer sets.
fn count_denied(asm: &mut Asm, maps: Maps, offsets: Offsets, none: Label) {
    asm.load(Double, R7, R6, regs::ORIG_AX);
    asm.mov32(R7, R7);
    asm.constant(R1, u32::MAX.into());
    asm.jump_if(Cond::Eq, R7, R1, none);
    increment(asm, maps, session::DENIED);
    count_syscall(asm, maps, offsets);
}

/// Counts the syscall with the registers in R6 and the number in R7.
fn count_syscall(asm: &mut Asm, maps: Maps, offsets: Offsets) {
    let (native, args, found, lost) = (asm.label(), asm.label(), asm.label(), asm.label());
    let end = asm.label();
    asm.call(CurrentTask);
    asm.load(Word, R1, R0, offsets.status);
    asm.alu(Alu::And, R1, TS_COMPAT);
    asm.store(Word, FP, stack::SYSCALL, R1);
    asm.store(Word, FP, stack::SYSCALL + 4, R7);
    asm.jump_if(Cond::Eq, R1, 0, native);
    copy_args(asm, regs::COMPAT_ARGS);
    asm.jump(args);
    asm.here(native);
    copy_args(asm, regs::ARGS);
    asm.here(args);

    // The map of a session that has ended is gone.
    map_call(asm, MapLookup, maps.syscalls, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.mov(R8, R0);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.store(Word, FP, stack::SMALL, 0);
    map_call(asm, MapLookup, maps.zero, stack::SMALL);
    asm.jump_if(Cond::Eq, R0, 0, lost);
    asm.mov(R3, R0);
    // BPF_NOEXIST keeps an entry that another processor has just inserted.
    asm.mov(R4, 1);
    call_of_map(asm, MapUpdate, R8, stack::SYSCALL);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.here(lost);
    increment(asm, maps, session::LOST);
    asm.jump(end);

    asm.here(found);
    asm.mov(R8, R0);
    asm.load(Double, R1, R8, 0);
    asm.alu(Alu::Add, R1, 1);
    asm.store(Double, R8, 0, R1);
    asm.load(Double, R9, FP, stack::KEY);
    for index in 0..6 {
        asm.load(Double, R1, FP, stack::ARGS + 8 * index);
        note_value(asm, 8 + 8 * ARG_WORDS * index);
    }
    asm.here(end);
}

fn copy_args(asm: &mut Asm, registers: [i16; 6]) {
    for (index, register) in (0..).zip(registers) {
        asm.load(Double, R1, R6, register);
        asm.store(Double, FP, stack::ARGS + 8 * index, R1);
    }
}

/// Stores the value in R1 for the argument at R8 + `base`; R9 is the key of values.
///
/// The search has no loop and does not check the length, which halves the number of paths for the verifier and saves
/// instructions.
fn note_value(asm: &mut Asm, base: i16) {
    let [length, min, max, ever, always, values] = [0, 1, 2, 3, 4, 5].map(|word| base + 8 * word);
    let (bounds, done, full) = (asm.label(), asm.label(), asm.label());
    asm.load(Double, R2, R8, length);
    asm.jump_if(Cond::Gt, R2, i32::from(SLOTS), bounds);
    asm.mov(R3, R1);
    asm.alu(Alu::Xor, R3, R9);
    for slot in 0..SLOTS {
        asm.load(Double, R4, R8, values + 8 * slot);
        asm.jump_if(Cond::Eq, R4, R3, done);
    }
    asm.jump_if(Cond::Gt, R2, i32::from(SLOTS) - 1, full);
    asm.mov(R4, R2);
    asm.alu(Alu::Lsh, R4, 3);
    asm.alu(Alu::Add, R4, R8);
    asm.store(Double, R4, values, R3);
    asm.alu(Alu::Add, R2, 1);
    asm.store(Double, R8, length, R2);
    asm.jump(done);

    asm.here(full);
    asm.store(Double, R8, length, OVERFULL);
    for bound in [min, max, ever, always] {
        asm.store(Double, R8, bound, R1);
    }
    asm.jump(done);

    asm.here(bounds);
    for (bound, keeps) in [(min, Cond::Le), (max, Cond::Ge)] {
        let next = asm.label();
        asm.load(Double, R3, R8, bound);
        asm.jump_if(keeps, R3, R1, next);
        asm.store(Double, R8, bound, R1);
        asm.here(next);
    }
    for (bound, with) in [(ever, Alu::Or), (always, Alu::And)] {
        asm.load(Double, R3, R8, bound);
        asm.alu(with, R3, R1);
        asm.store(Double, R8, bound, R3);
    }
    asm.here(done);
}

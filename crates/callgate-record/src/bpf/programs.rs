//! The eBPF programs of the recorder.
//!
//! | program | tracepoint | task |
//! |---|---|---|
//! | enter | `sys_enter` | counts the syscall, if the thread is recorded |
//! | leave | `sys_exit` | counts a syscall that a filter of the command denied, which never reaches `sys_enter` |
//! | fork | `sched_process_fork` | adds the new thread of a recorded one |
//! | exec | `sched_process_exec` | notes the executable; moves the entry of a thread that takes over the number of the main thread |
//! | exit | `sched_process_exit` | removes the thread; counts the syscall for which a filter killed this thread alone |
//!
//! One set of these programs serves several recorders at a time ([`super::set`]). Each recorder has a session, which is
//! a random number: its key in the map `sessions`, and in `syscalls`, a map of maps, the key of its counters.
//!
//! The map `threads` has the recorded threads, by their numbers in the initial PID namespace. A value consists of a
//! state ([`state`]), the session, the key that masks argument values, and the number of the executable; programs copy
//! it to their stack. The first thread of a command is added by a syscall with two random arguments, the session and its secret, which works in any
//! PID namespace, unless the thread belongs to another session. When the recorder has seen that its syscalls are
//! counted, it sets the state [`state::BEFORE_EXECVE`]; the counters then start with its `execve`.
//!
//! Threads of running processes are added by the recorder ([`super::seed`]). The map `cgroups` has recorded cgroups: a
//! process in one of them, or below, is added by its `execve`. So a process that enters a container from outside is
//! recorded from its own program on, and not while it still runs the code of the container's runtime.
//!
//! A session can count each executable apart. Then *exec* looks up the path of the executable, as it was given to
//! `execve`, in the map `executables`, which gives it a number. The number is copied to the threads that are
//! started, and is part of the keys of counters. In other sessions it is 0. Executables beyond a limit have the number
//! of the empty path. If there are too many pairs of a syscall and an executable, the counter of the syscall without
//! an executable is used: a part of the map is kept for these, so nothing is missing in the whole recording.
//!
//! Counters are in a per-processor map, by ABI, syscall number and executable. Nothing preempts a program at these tracepoints, so
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
    self, AncestorCgroup, CurrentPidTgid, CurrentTask, MapDelete, MapLookup, MapUpdate,
    ReadKernelString, TaskRegisters,
};
use super::asm::Size::{Double, Word};
use super::asm::{
    Alu, Asm, Code, Cond, FP, Label, Operand, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Reg,
};
use super::layout::{
    ARG_WORDS, CGROUP_LEVELS, EXECUTABLE_KEY, FIRST_EXECUTABLE, Maps, NO_EXECUTABLE, OVERFULL,
    Offsets, PATH_BYTES, PF_SIGNALED, SLOTS, TS_COMPAT, regs, session, stack, state,
};
use crate::tally::MAX_EXECUTABLES;

/// The program at `sys_enter`, whose arguments are the registers and the syscall number.
pub(super) fn enter(maps: Maps, offsets: Offsets) -> Code {
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
    asm.store(Double, FP, stack::EXECUTABLE, NO_EXECUTABLE);
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
    note_value(&mut asm);
    asm.finish()
}

/// The program at `sys_exit`, whose arguments are the registers and the result.
pub(super) fn leave(maps: Maps, offsets: Offsets) -> Code {
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
    note_value(&mut asm);
    asm.finish()
}

/// The program at `sched_process_fork`, whose arguments are the current task and the new one, which does not run yet.
pub(super) fn fork(maps: Maps, offsets: Offsets) -> Code {
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

/// The program at `sched_process_exec`, whose arguments are the task, its former number, and what it executes.
pub(super) fn exec(maps: Maps, offsets: Offsets) -> Code {
    let mut asm = Asm::default();
    let (end, unsplit) = (asm.label(), asm.label());
    asm.load(Double, R6, R1, 0);
    asm.load(Double, R7, R1, 8);
    asm.load(Double, R8, R1, 16);
    asm.mov32(R7, R7);
    asm.store(Word, FP, stack::THREAD, R7);
    map_call(&mut asm, MapLookup, maps.threads, stack::THREAD);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Word, R9, R0, 0);
    take_session(&mut asm);
    map_call(&mut asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, unsplit);
    asm.load(Double, R1, R0, 8 * session::SPLIT);
    asm.jump_if(Cond::Eq, R1, 0, unsplit);
    name_executable(&mut asm, maps, offsets);
    map_call(&mut asm, MapLookup, maps.threads, stack::THREAD);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Double, R1, FP, stack::EXECUTABLE);
    asm.store(Double, R0, 8 * 3, R1);
    asm.here(unsplit);
    asm.load(Word, R8, R6, offsets.pid);
    asm.jump_if(Cond::Eq, R7, R8, end);
    map_call(&mut asm, MapDelete, maps.threads, stack::THREAD);
    // The recorder has just removed it.
    asm.jump_if(Cond::Ne, R0, 0, end);
    asm.store(Word, FP, stack::THREAD, R8);
    insert_thread(&mut asm, maps, R9);
    asm.jump_if(Cond::Eq, R0, 0, end);
    increment(&mut asm, maps, session::UNSEEN);
    asm.here(end);
    asm.exit();
    asm.finish()
}

/// Puts the number of what is executed, described by the `linux_binprm` in R8, on the stack, and counts that.
fn name_executable(asm: &mut Asm, maps: Maps, offsets: Offsets) {
    let (known, others, end) = (asm.label(), asm.label(), asm.label());
    clear_path(asm);
    asm.load(Double, R1, FP, stack::SESSION);
    asm.store(Double, FP, stack::PATH_KEY, R1);
    asm.mov(R1, FP);
    asm.alu(Alu::Add, R1, i32::from(stack::PATH_KEY + 8));
    asm.mov(R2, PATH_BYTES as i32);
    asm.load(Double, R3, R8, offsets.filename);
    asm.call(ReadKernelString);
    map_call(asm, MapLookup, maps.executables, stack::PATH_KEY);
    asm.jump_if(Cond::Ne, R0, 0, known);
    map_call(asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.mov(R1, 1);
    asm.atomic_fetch_add(R0, 8 * session::EXECUTABLES, R1);
    asm.jump_if(Cond::Ge, R1, MAX_EXECUTABLES as i32, others);
    asm.alu(Alu::Add, R1, FIRST_EXECUTABLE);
    asm.store(Double, FP, stack::NEW_EXECUTABLE, R1);
    asm.store(Double, FP, stack::NEW_EXECUTABLE + 8, 0);
    asm.mov(R3, FP);
    asm.alu(Alu::Add, R3, i32::from(stack::NEW_EXECUTABLE));
    // BPF_NOEXIST keeps an entry that another processor has just inserted.
    asm.mov(R4, 1);
    map_call(asm, MapUpdate, maps.executables, stack::PATH_KEY);
    map_call(asm, MapLookup, maps.executables, stack::PATH_KEY);
    asm.jump_if(Cond::Ne, R0, 0, known);
    asm.here(others);
    clear_path(asm);
    map_call(asm, MapLookup, maps.executables, stack::PATH_KEY);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.here(known);
    asm.load(Double, R1, R0, 0);
    asm.store(Double, FP, stack::EXECUTABLE, R1);
    asm.mov(R1, 1);
    asm.atomic_add(R0, 8, R1);
    asm.here(end);
}

/// Clears the path in the key of executables.
fn clear_path(asm: &mut Asm) {
    for word in 1..EXECUTABLE_KEY as i16 / 8 {
        asm.store(Double, FP, stack::PATH_KEY + 8 * word, 0);
    }
}

/// The program at `sched_process_exit`, whose argument is the task.
pub(super) fn exit(maps: Maps, offsets: Offsets) -> Code {
    let mut asm = Asm::default();
    let (end, forget, joins) = (asm.label(), asm.label(), asm.label());
    asm.load(Double, R7, R1, 0);
    current_thread(&mut asm, maps);
    asm.jump_if(Cond::Eq, R0, 0, end);
    take_session(&mut asm);
    // KILL_PROCESS lets the thread reach `sys_exit`; KILL_THREAD does not.
    asm.load(Word, R1, R0, 0);
    asm.jump_if(Cond::Eq, R1, state::JOINS, joins);
    asm.jump_if(Cond::Ne, R1, state::OUTSIDE, forget);
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
    map_call(&mut asm, MapDelete, maps.threads, stack::THREAD);
    // The recorder has just removed it, and counts its end if it has to.
    asm.jump_if(Cond::Ne, R0, 0, end);
    increment(&mut asm, maps, session::ENDED);
    asm.jump(end);
    // Killed in the `execve` by which it joins: it was not counted as a thread.
    asm.here(joins);
    map_call(&mut asm, MapDelete, maps.threads, stack::THREAD);
    asm.here(end);
    asm.exit();
    note_value(&mut asm);
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
    for (word, place) in [(1, stack::SESSION), (2, stack::KEY), (3, stack::EXECUTABLE)] {
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
    asm.store(Double, FP, stack::EXECUTABLE, NO_EXECUTABLE);
    insert_thread(asm, maps, state::JOINS);
    asm.jump_if(Cond::Eq, R0, 0, joined);
    // It was not counted as a thread, so it is not an unseen one.
    increment(asm, maps, session::UNJOINED);
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

/// Counts the syscall described by the registers in R6, except number -1, which a tracer sets; see [`count_syscall`].
fn count_denied(asm: &mut Asm, maps: Maps, offsets: Offsets, none: Label) {
    asm.load(Double, R7, R6, regs::ORIG_AX);
    asm.mov32(R7, R7);
    asm.constant(R1, u32::MAX.into());
    asm.jump_if(Cond::Eq, R7, R1, none);
    increment(asm, maps, session::DENIED);
    count_syscall(asm, maps, offsets);
}

/// Counts the syscall with the registers in R6 and the number in R7. Calls [`note_value`], which must be the program's
/// function.
fn count_syscall(asm: &mut Asm, maps: Maps, offsets: Offsets) {
    let (native, args, found) = (asm.label(), asm.label(), asm.label());
    let (whole, unsplit, end) = (asm.label(), asm.label(), asm.label());
    asm.call(CurrentTask);
    asm.load(Word, R1, R0, offsets.status);
    asm.alu(Alu::And, R1, TS_COMPAT);
    asm.store(Word, FP, stack::SYSCALL, R1);
    asm.store(Word, FP, stack::SYSCALL + 4, R7);
    asm.load(Double, R2, FP, stack::EXECUTABLE);
    asm.store(Double, FP, stack::SYSCALL + 8, R2);
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
    asm.load(Double, R1, FP, stack::EXECUTABLE);
    asm.jump_if(Cond::Eq, R1, NO_EXECUTABLE, whole);
    map_call(asm, MapLookup, maps.sessions, stack::SESSION);
    asm.jump_if(Cond::Eq, R0, 0, end);
    asm.load(Double, R2, R0, 8 * session::MAX_PAIRS);
    asm.load(Double, R1, R0, 8 * session::PAIRS);
    asm.jump_if(Cond::Ge, R1, R2, unsplit);
    // Other processors may have taken the last ones, or insert the same one.
    asm.mov(R1, 1);
    asm.atomic_fetch_add(R0, 8 * session::PAIRS, R1);
    asm.jump_if(Cond::Ge, R1, R2, unsplit);
    insert_counter(asm, maps, found);
    asm.here(unsplit);
    increment(asm, maps, session::UNSPLIT);
    asm.store(Double, FP, stack::SYSCALL + 8, NO_EXECUTABLE);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.here(whole);
    insert_counter(asm, maps, found);
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
        asm.mov(R2, R8);
        asm.alu(Alu::Add, R2, i32::from(8 + 8 * ARG_WORDS * index));
        asm.mov(R3, R9);
        asm.call_function();
    }
    asm.here(end);
}

/// Inserts a counter for the key on the stack into the map in R8, and goes to `found` with it in R0, unless the map is
/// full.
fn insert_counter(asm: &mut Asm, maps: Maps, found: Label) {
    let full = asm.label();
    asm.store(Word, FP, stack::SMALL, 0);
    map_call(asm, MapLookup, maps.zero, stack::SMALL);
    asm.jump_if(Cond::Eq, R0, 0, full);
    asm.mov(R3, R0);
    // BPF_NOEXIST keeps an entry that another processor has just inserted.
    asm.mov(R4, 1);
    call_of_map(asm, MapUpdate, R8, stack::SYSCALL);
    call_of_map(asm, MapLookup, R8, stack::SYSCALL);
    asm.jump_if(Cond::Ne, R0, 0, found);
    asm.here(full);
}

fn copy_args(asm: &mut Asm, registers: [i16; 6]) {
    for (index, register) in (0..).zip(registers) {
        asm.load(Double, R1, R6, register);
        asm.store(Double, FP, stack::ARGS + 8 * index, R1);
    }
}

/// The function that notes the value of an argument: the value in R1, the words of the argument in R2, and the key of values in
/// R3 ([`function_types`](super::function_types)).
///
/// The verifier checks a function with types once, and not at each call: lab/results/decisions-measured.md has the times.
/// The search has no loop and does not check the length, which halves the number of paths and saves instructions.
pub(super) fn note_value(asm: &mut Asm) {
    let [length, min, max, ever, always, values] = [0, 8, 16, 24, 32, 40];
    let (bounds, done, full) = (asm.label(), asm.label(), asm.label());
    asm.function();
    // The verifier does not know that no caller passes a null pointer.
    asm.jump_if(Cond::Eq, R2, 0, done);
    asm.load(Double, R4, R2, length);
    asm.jump_if(Cond::Gt, R4, i32::from(SLOTS), bounds);
    asm.alu(Alu::Xor, R3, R1);
    for slot in 0..SLOTS {
        asm.load(Double, R5, R2, values + 8 * slot);
        asm.jump_if(Cond::Eq, R5, R3, done);
    }
    asm.jump_if(Cond::Gt, R4, i32::from(SLOTS) - 1, full);
    asm.mov(R5, R4);
    asm.alu(Alu::Lsh, R5, 3);
    asm.alu(Alu::Add, R5, R2);
    asm.store(Double, R5, values, R3);
    asm.alu(Alu::Add, R4, 1);
    asm.store(Double, R2, length, R4);
    asm.jump(done);

    asm.here(full);
    asm.store(Double, R2, length, OVERFULL);
    for bound in [min, max, ever, always] {
        asm.store(Double, R2, bound, R1);
    }
    asm.jump(done);

    asm.here(bounds);
    for (bound, keeps) in [(min, Cond::Le), (max, Cond::Ge)] {
        let next = asm.label();
        asm.load(Double, R3, R2, bound);
        asm.jump_if(keeps, R3, R1, next);
        asm.store(Double, R2, bound, R1);
        asm.here(next);
    }
    for (bound, with) in [(ever, Alu::Or), (always, Alu::And)] {
        asm.load(Double, R3, R2, bound);
        asm.alu(with, R3, R1);
        asm.store(Double, R2, bound, R3);
    }
    asm.here(done);
    asm.exit();
}

//! The syscalls of each runtime.
//!
//! Sources: glibc 2.36 to 2.42, musl 1.2.5, Go 1.20 to 1.26 (`src/runtime`), OpenJDK 17 to 25 (`src/hotspot`), Node.js
//! 18 to 24 with its V8 (`deps/v8`) and libuv (`deps/uv`), CPython 3.11 to 3.14. Paths in [`RuntimeCall::source`] are
//! relative to these.

use crate::generate::runtime::{self, NeededSyscall};

/// A C library, or the runtime of a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LanguageRuntime {
    /// glibc or musl: in every recording, because the libraries of another machine may differ.
    CLibrary,
    /// The dynamic linker and the C library before `main`: where only running processes were recorded.
    Start,
    /// Go.
    Go,
    /// The Java virtual machine HotSpot.
    Jvm,
    /// Node.js.
    Node,
    /// CPython.
    Python,
}

/// A syscall that a runtime may make at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeCall {
    /// The syscall with its values.
    pub needed: NeededSyscall,
    /// Where the source of the runtime makes it: a file and a function, and when.
    pub source: &'static str,
}

impl LanguageRuntime {
    /// All runtimes.
    pub const ALL: [LanguageRuntime; 6] = [
        LanguageRuntime::CLibrary,
        LanguageRuntime::Start,
        LanguageRuntime::Go,
        LanguageRuntime::Jvm,
        LanguageRuntime::Node,
        LanguageRuntime::Python,
    ];

    /// The identifier in JSON, which does not change.
    pub const fn id(self) -> &'static str {
        match self {
            LanguageRuntime::CLibrary => "libc",
            LanguageRuntime::Start => "start",
            LanguageRuntime::Go => "go",
            LanguageRuntime::Jvm => "jvm",
            LanguageRuntime::Node => "node",
            LanguageRuntime::Python => "python",
        }
    }

    /// The name for people: `the C library`, `Go`.
    pub const fn name(self) -> &'static str {
        match self {
            LanguageRuntime::CLibrary => "the C library",
            LanguageRuntime::Start => "the dynamic linker",
            LanguageRuntime::Go => "Go",
            LanguageRuntime::Jvm => "the Java virtual machine",
            LanguageRuntime::Node => "Node.js",
            LanguageRuntime::Python => "Python",
        }
    }

    /// When it makes them, for people.
    pub const fn when(self) -> &'static str {
        match self {
            LanguageRuntime::Start => "before the recording began",
            _ => "at any time",
        }
    }

    /// What it does, for people.
    pub const fn description(self) -> &'static str {
        match self {
            LanguageRuntime::CLibrary => {
                "the C library may make them at any time: abort(3), malloc(3), locks, output, clocks"
            }
            LanguageRuntime::Start => {
                "the dynamic linker and the C library make them when a program starts, which was not recorded"
            }
            LanguageRuntime::Go => {
                "Go may make them at any time: preemption, threads, memory, timers, network polling"
            }
            LanguageRuntime::Jvm => {
                "the Java virtual machine may make them at any time: threads, memory, its compiler, limits of the \
                 container"
            }
            LanguageRuntime::Node => {
                "Node.js may make them at any time: its compiler, memory, the event loop, its threads"
            }
            LanguageRuntime::Python => {
                "Python may make them at any time: imports, memory, locks, signals"
            }
        }
    }

    /// The syscalls that it may make.
    pub fn calls(self) -> &'static [RuntimeCall] {
        match self {
            LanguageRuntime::CLibrary => C_LIBRARY,
            LanguageRuntime::Start => START,
            LanguageRuntime::Go => GO,
            LanguageRuntime::Jvm => JVM,
            LanguageRuntime::Node => NODE,
            LanguageRuntime::Python => PYTHON,
        }
    }
}

const fn any(name: &'static str, source: &'static str) -> RuntimeCall {
    RuntimeCall { needed: runtime::any(name), source }
}

const fn only(name: &'static str, values: &'static [u64], source: &'static str) -> RuntimeCall {
    RuntimeCall { needed: runtime::only(name, values), source }
}

/// Memory for data: PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE.
const DATA: &[u64] = &[0, 1, 3];
/// Memory that V8 fills with code and executes: `DATA`, PROT_READ | PROT_EXEC, and all three.
const CODE: &[u64] = &[0, 1, 3, 5, 7];
/// Threads and processes without new namespaces.
const SAME_NAMESPACES: &[u64] = &[0];
/// FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET.
const LOCKS: &[u64] = &[0, 1, 3, 4, 5, 9, 10];
/// PR_SET_NAME.
const THREAD_NAME: &[u64] = &[15];
/// PR_SET_VMA.
const MEMORY_NAME: &[u64] = &[0x5356_4d41];
/// FIONBIO, TCGETS, TCGETS2.
const NONBLOCKING_OR_TERMINAL: &[u64] = &[0x5421, 0x5401, 0x802c_542a];
/// F_GETFL.
const STATUS_FLAGS: &[u64] = &[3];
/// Memory for segments of files: PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC.
const SEGMENTS: &[u64] = &[0, 1, 3, 5];
/// ARCH_SET_FS, ARCH_CET_STATUS, ARCH_SHSTK_STATUS.
const THREAD_POINTER: &[u64] = &[0x1002, 0x3001, 0x5005];
/// TCGETS, TCGETS2.
const IS_TERMINAL: &[u64] = &[0x5401, 0x802c_542a];

#[rustfmt::skip]
static C_LIBRARY: &[RuntimeCall] = &[
    any("rt_sigprocmask", "glibc stdlib/abort.c, abort, since 2.41 __abort_lock_wrlock; musl src/exit/abort.c, abort: blocks and unblocks signals"),
    any("rt_sigaction", "glibc stdlib/abort.c, abort; musl src/exit/abort.c, abort: restores the default action of SIGABRT"),
    any("getpid", "glibc nptl/pthread_kill.c, __pthread_kill_implementation: raise(3), and so abort(3)"),
    any("gettid", "glibc nptl/pthread_kill.c, __pthread_kill_implementation: raise(3), and so abort(3)"),
    any("tgkill", "glibc nptl/pthread_kill.c, __pthread_kill_implementation: raise(3), and so abort(3)"),
    any("tkill", "musl src/signal/raise.c, raise, and src/exit/abort.c, abort"),
    any("exit", "glibc nptl/pthread_create.c, start_thread; musl src/thread/pthread_create.c, __pthread_exit: a thread ends"),
    any("exit_group", "glibc sysdeps/unix/sysv/linux/_exit.c, _exit; musl src/exit/_Exit.c, _Exit"),
    only("futex", LOCKS, "glibc nptl/lowlevellock.c, __lll_lock_wait; musl src/thread/__wait.c, __wait: a lock that another thread holds"),
    only("futex_time64", LOCKS, "glibc nptl/futex-internal.c, __futex_abstimed_wait_common64; musl src/thread/__timedwait.c, __futex4_cp: futex with 64-bit times on 32-bit ABIs"),
    any("brk", "glibc malloc/malloc.c, sysmalloc; musl src/malloc/mallocng/malloc.c, alloc_meta: the heap grows"),
    only("mmap", DATA, "glibc malloc/malloc.c, sysmalloc_mmap, and malloc/arena.c, new_heap; musl src/malloc/mallocng/malloc.c, alloc_group"),
    only("mmap2", DATA, "glibc sysdeps/unix/sysv/linux/mmap64.c, __mmap64; musl src/mman/mmap.c, __mmap: mmap on 32-bit ABIs"),
    any("munmap", "glibc malloc/malloc.c, munmap_chunk; musl src/malloc/mallocng/free.c, free"),
    any("mremap", "glibc malloc/malloc.c, mremap_chunk; musl src/malloc/mallocng/realloc.c, realloc"),
    only("mprotect", DATA, "glibc malloc/arena.c, grow_heap: the heap of a thread grows"),
    any("madvise", "glibc malloc/arena.c, shrink_heap, and nptl/allocatestack.c, advise_stack_range; musl src/malloc/mallocng/free.c, free"),
    any("writev", "glibc sysdeps/posix/libc_fatal.c, __libc_message: a failed assertion or a damaged heap; musl src/stdio/__stdio_write.c, __stdio_write"),
    any("write", "glibc libio/fileops.c, new_do_write: buffered output, also at exit"),
    any("clock_gettime", "kernel lib/vdso/gettimeofday.c, __cvdso_clock_gettime: the vDSO cannot read the current clock source"),
    any("clock_gettime64", "kernel lib/vdso/gettimeofday.c, __cvdso_clock_gettime: clock_gettime with 64-bit times on 32-bit ABIs"),
    any("gettimeofday", "kernel lib/vdso/gettimeofday.c, __cvdso_gettimeofday: the vDSO cannot read the current clock source"),
    any("sched_getaffinity", "glibc sysdeps/unix/sysv/linux/getsysstats.c, __get_nprocs_sched, for malloc/arena.c, arena_get2: several threads allocate at once"),
    any("getrandom", "glibc malloc/malloc.c, tcache_key_initialize, from malloc/arena.c, ptmalloc_init: the first malloc(3)"),
];

#[rustfmt::skip]
static START: &[RuntimeCall] = &[
    any("brk", "glibc elf/dl-minimal-malloc.c, __minimal_malloc; musl ldso/dynlink.c, reclaim: the first memory"),
    only("arch_prctl", THREAD_POINTER, "glibc sysdeps/x86_64/nptl/tls.h, TLS_INIT_TP; musl src/thread/x86_64/__set_thread_area.s, __set_thread_area"),
    any("set_thread_area", "glibc sysdeps/i386/nptl/tls.h, TLS_INIT_TP; musl src/thread/i386/__set_thread_area.s, __set_thread_area: 32-bit x86"),
    any("set_tid_address", "glibc sysdeps/nptl/dl-tls_init_tp.c, __tls_init_tp; musl src/env/__init_tls.c, __init_tp"),
    any("set_robust_list", "glibc sysdeps/nptl/dl-tls_init_tp.c, __tls_init_tp"),
    any("rseq", "glibc sysdeps/nptl/dl-tls_init_tp.c, __tls_init_tp"),
    any("prlimit64", "glibc nptl/pthread_attr_setstacksize.c, __pthread_initialize_minimal_internal: the size of stacks"),
    only("mmap", SEGMENTS, "glibc elf/dl-map-segments.h, _dl_map_segments; musl ldso/dynlink.c, map_library"),
    only("mmap2", SEGMENTS, "glibc elf/dl-map-segments.h, _dl_map_segments; musl ldso/dynlink.c, map_library: mmap on 32-bit ABIs"),
    only("mprotect", SEGMENTS, "glibc elf/dl-reloc.c, _dl_protect_relro; musl ldso/dynlink.c, reloc_all"),
    any("munmap", "glibc elf/dl-cache.c, _dl_unload_cache; musl ldso/dynlink.c, unmap_library"),
    any("openat", "glibc elf/dl-load.c, open_verify: libraries"),
    any("open", "musl ldso/dynlink.c, path_open: libraries"),
    any("read", "glibc elf/dl-load.c, open_verify; musl ldso/dynlink.c, map_library: the header of a library"),
    any("pread64", "glibc elf/dl-load.c, open_verify; musl ldso/dynlink.c, map_library: program headers"),
    any("close", "glibc elf/dl-load.c, _dl_map_object_from_fd; musl ldso/dynlink.c, load_library"),
    any("newfstatat", "glibc elf/dl-load.c, _dl_map_object_from_fd, by sysdeps/unix/sysv/linux/fstat64.c, __fstat64"),
    any("fstat", "glibc elf/dl-load.c, _dl_map_object_from_fd; musl ldso/dynlink.c, load_library"),
    any("statx", "glibc sysdeps/unix/sysv/linux/fstatat64.c, __fstatat64_time64: newfstatat on newer ABIs"),
    any("access", "glibc elf/rtld.c, dl_main: /etc/ld.so.preload"),
    any("faccessat", "glibc sysdeps/unix/sysv/linux/access.c, __access: access where it is missing"),
    any("getrandom", "glibc malloc/malloc.c, tcache_key_initialize: the first malloc(3)"),
    any("readlink", "glibc sysdeps/unix/sysv/linux/dl-origin.c, _dl_get_origin: libraries beside the program"),
    any("riscv_hwprobe", "glibc sysdeps/unix/sysv/linux/riscv/hwprobe.c, __riscv_hwprobe"),
    only("ioctl", IS_TERMINAL, "glibc libio/filedoalloc.c, local_isatty: the first output"),
];

#[rustfmt::skip]
static GO: &[RuntimeCall] = &[
    any("tgkill", "os_linux.go, signalM: preempts a goroutine that runs for 10 ms, or when the collector starts"),
    any("getpid", "os_linux.go, signalM"),
    any("gettid", "os_linux.go, minit: a new thread"),
    any("rt_sigprocmask", "os_linux.go, newosproc: a new thread"),
    any("rt_sigaction", "os_linux.go, sysSigaction: os/signal, and signal_unix.go, dieFromSignal"),
    any("sigaltstack", "signal_unix.go, minitSignalStack: a new thread"),
    only("clone", SAME_NAMESPACES, "os_linux.go, newosproc: a new thread for a syscall that waits, or for the collector"),
    only("futex", LOCKS, "os_linux.go, futexsleep and futexwakeup"),
    any("nanosleep", "sys_linux_amd64.s, usleep: the thread sysmon"),
    any("sched_yield", "sys_linux_amd64.s, osyield: a spinning lock"),
    any("sched_getaffinity", "os_linux.go, getCPUCount: since Go 1.25, at most every second"),
    any("pread64", "internal/runtime/cgroup/cgroup_linux.go, ReadCPULimit: since Go 1.25, at most every second"),
    any("madvise", "mem_linux.go, sysUnusedOS and sysHugePageOS: the scavenger"),
    only("mmap", DATA, "mem_linux.go, sysReserveOS and sysMapOS: the heap grows"),
    any("munmap", "mem_linux.go, sysFreeOS"),
    only("prctl", MEMORY_NAME, "set_vma_name_linux.go, setVMAName: names memory, since Go 1.25"),
    any("epoll_create1", "netpoll_epoll.go, netpollinit: the first timer, pipe or connection"),
    any("eventfd2", "netpoll_epoll.go, netpollinit: since Go 1.23"),
    any("pipe2", "nbpipe_pipe2.go, nonblockingPipe, for netpoll_epoll.go, netpollinit: before Go 1.23, which uses eventfd2"),
    any("epoll_ctl", "netpoll_epoll.go, netpollinit and netpollopen"),
    any("epoll_pwait", "netpoll_epoll.go, netpoll"),
    any("read", "netpoll_epoll.go, netpoll: after netpollBreak"),
    any("write", "netpoll_epoll.go, netpollBreak; write_err.go, writeErr: a panic"),
    any("exit", "sys_linux_amd64.s, exitThread"),
    any("exit_group", "sys_linux_amd64.s, exit"),
];

#[rustfmt::skip]
static JVM: &[RuntimeCall] = &[
    any("sched_yield", "os/linux/os_linux.cpp, later os/posix/os_posix.cpp, os::naked_yield"),
    any("madvise", "os/linux/os_linux.cpp, os::pd_realign_memory and os::pd_disclaim_memory; glibc nptl/allocatestack.c, advise_stack_range: a thread ends"),
    only("mprotect", DATA, "os/linux/os_linux.cpp, linux_mprotect: guard pages of threads, safepoints"),
    only("mmap", DATA, "os/linux/os_linux.cpp, commit_memory_impl and anon_mmap: the heap grows"),
    any("munmap", "os/linux/os_linux.cpp, anon_munmap; glibc nptl/nptl-stack.c, __nptl_free_stacks: threads end"),
    only("futex", LOCKS, "os/posix/os_posix.cpp, PlatformEvent::park and Parker::park"),
    only("clone", SAME_NAMESPACES, "os/linux/os_linux.cpp, os::create_thread: threads of the compiler and the collector start on demand"),
    any("set_robust_list", "glibc nptl/pthread_create.c, start_thread"),
    any("rseq", "glibc nptl/pthread_create.c, start_thread"),
    only("prctl", THREAD_NAME, "os/linux/os_linux.cpp, os::set_native_thread_name"),
    any("gettid", "os/linux/os_linux.cpp, os::Linux::gettid: a new thread"),
    any("getpid", "glibc nptl/pthread_kill.c, __pthread_kill_implementation, for os/posix/signals_posix.cpp, sr_notify: suspends a thread"),
    any("tgkill", "glibc nptl/pthread_kill.c, __pthread_kill_implementation, for os/posix/signals_posix.cpp, sr_notify, and java.base/unix/native/libnio/ch/NativeThread.c, Java_sun_nio_ch_NativeThread_signal: closes a channel"),
    any("rt_sigprocmask", "os/posix/signals_posix.cpp, PosixSignals::hotspot_sigmask: a new thread"),
    any("rt_sigaction", "os/posix/signals_posix.cpp, PosixSignals::install_generic_signal_handler: jdk.internal.misc.Signal"),
    any("sched_getaffinity", "os/linux/os_linux.cpp, os::Linux::active_processor_count: Runtime.availableProcessors()"),
    any("openat", "os/linux/cgroupSubsystem_linux.cpp, CgroupController::read_string, in old versions cgroupSubsystem_linux.hpp, subsystem_file_line_contents: limits of the container, read again after 20 ms"),
    any("newfstatat", "glibc libio/filedoalloc.c, _IO_file_doallocate: reads these files"),
    any("fstat", "musl src/stat/fstatat.c, fstatat_kstat: reads these files"),
    any("read", "os/linux/cgroupSubsystem_linux.cpp, CgroupController::read_string: these files"),
    any("close", "os/linux/cgroupSubsystem_linux.cpp, CgroupController::read_string: these files"),
    any("getrusage", "os/linux/os_linux.cpp, os::elapsedVTime: G1 measures its concurrent threads"),
    any("sysinfo", "os/linux/os_linux.cpp, os::Linux::available_memory, in new versions os::Linux::free_memory"),
    any("clock_nanosleep", "os/posix/os_posix.cpp, os::naked_short_nanosleep: a spinning lock, and a safepoint that waits"),
    any("unlink", "os/posix/perfMemory_posix.cpp, remove_file: at exit"),
];

#[rustfmt::skip]
static NODE: &[RuntimeCall] = &[
    only("futex", LOCKS, "deps/uv/src/unix/thread.c, uv_mutex_lock and uv_cond_wait"),
    any("madvise", "deps/v8/src/base/platform/platform-posix.cc, OS::DiscardSystemPages and OS::SetPermissions"),
    only("mprotect", CODE, "deps/v8/src/base/platform/platform-posix.cc, OS::SetPermissions: V8 compiles functions when they are used often"),
    only("pkey_mprotect", CODE, "deps/v8/src/base/platform/memory-protection-key.cc, SetPermissionsAndKey"),
    only("mmap", CODE, "deps/v8/src/base/platform/platform-posix.cc, OS::Allocate: the heap and the memory for code grow"),
    any("munmap", "deps/v8/src/base/platform/platform-posix.cc, OS::Free"),
    any("epoll_pwait", "deps/uv/src/unix/linux.c, uv__io_poll"),
    any("epoll_ctl", "deps/uv/src/unix/linux.c, uv__io_poll"),
    any("epoll_create1", "deps/uv/src/unix/linux.c, uv__platform_loop_init: a worker"),
    any("eventfd2", "deps/uv/src/unix/async.c, uv__async_start: a worker"),
    any("read", "deps/uv/src/unix/async.c, uv__async_io"),
    any("write", "deps/uv/src/unix/async.c, uv__async_send"),
    only("clone", SAME_NAMESPACES, "deps/uv/src/threadpool.c, init_threads: the first file, name or compression"),
    any("set_robust_list", "glibc nptl/pthread_create.c, start_thread"),
    any("rseq", "glibc nptl/pthread_create.c, start_thread"),
    any("rt_sigprocmask", "glibc nptl/pthread_create.c, start_thread"),
    only("prctl", THREAD_NAME, "deps/uv/src/unix/thread.c, uv__thread_setname: a new thread, since libuv 1.50"),
    any("sched_yield", "deps/uv/src/unix/async.c, uv__async_spin"),
    any("sched_getaffinity", "deps/uv/src/unix/core.c, uv_available_parallelism: os.availableParallelism()"),
    any("openat", "deps/uv/src/unix/fs.c, uv__fs_open: require() at any time"),
    any("statx", "deps/uv/src/unix/fs.c, uv__fs_statx: require()"),
    any("pread64", "deps/uv/src/unix/fs.c, uv__fs_read: require()"),
    any("close", "deps/uv/src/unix/core.c, uv__close_nocancel: require()"),
    only("ioctl", NONBLOCKING_OR_TERMINAL, "deps/uv/src/unix/core.c, uv__nonblock_ioctl: standard output is a pipe, as in containers; a terminal"),
    only("fcntl", STATUS_FLAGS, "deps/uv/src/unix/pipe.c, uv_pipe_open: standard output is a pipe"),
];

#[rustfmt::skip]
static PYTHON: &[RuntimeCall] = &[
    only("futex", LOCKS, "Python/thread_pthread.h, PyThread_acquire_lock_timed; Python/ceval_gil.c, take_gil"),
    any("clock_nanosleep", "Modules/timemodule.c, pysleep"),
    only("mmap", DATA, "Objects/obmalloc.c, _PyMem_ArenaAlloc"),
    any("munmap", "Objects/obmalloc.c, _PyMem_ArenaFree"),
    any("mremap", "glibc malloc/malloc.c, mremap_chunk: a list grows"),
    any("brk", "glibc malloc/malloc.c, sysmalloc"),
    any("madvise", "glibc malloc/malloc.c, madvise_thp; glibc nptl/allocatestack.c, advise_stack_range"),
    any("openat", "Modules/_io/fileio.c, _io_FileIO___init___impl: an import in a function"),
    any("newfstatat", "Lib/importlib/_bootstrap_external.py, _path_stat: an import in a function"),
    any("stat", "musl src/stat/fstatat.c, fstatat_kstat: newfstatat with musl"),
    any("fstat", "Python/fileutils.c, _Py_fstat_noraise, with musl"),
    any("read", "Python/fileutils.c, _Py_read"),
    any("lseek", "Modules/_io/fileio.c, portable_lseek"),
    only("ioctl", IS_TERMINAL, "Modules/_io/fileio.c, _io_FileIO_isatty_impl: open()"),
    any("getdents64", "Lib/importlib/_bootstrap_external.py, FileFinder._fill_cache"),
    any("close", "Modules/_io/fileio.c, internal_close"),
    any("getcwd", "Lib/importlib/_bootstrap_external.py, PathFinder._path_importer_cache"),
    any("rt_sigaction", "Python/pylifecycle.c, PyOS_setsig"),
    any("getpid", "Modules/posixmodule.c, os_getpid_impl: multiprocessing, logging, random"),
    any("gettid", "Python/thread_pthread.h, PyThread_get_thread_native_id"),
    any("tgkill", "glibc nptl/pthread_kill.c, __pthread_kill_implementation, for Modules/signalmodule.c, signal_raise_signal_impl"),
    any("write", "Python/fileutils.c, _Py_write: a traceback"),
    any("getrandom", "Python/bootstrap_hash.c, py_getrandom"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::generate::limitable;
    use callgate_bpf::syscalls::is_known_name;

    /// How many syscalls are granted for one runtime, at most.
    const MAX_CALLS: usize = 25;

    #[test]
    fn each_runtime_has_at_most_25_syscalls_with_their_sources() {
        for runtime in LanguageRuntime::ALL {
            let calls = runtime.calls();
            assert!(calls.len() <= MAX_CALLS, "{}: {}", runtime.id(), calls.len());
            let names: BTreeSet<&str> = calls.iter().map(|call| call.needed.name).collect();
            assert_eq!(names.len(), calls.len(), "{}", runtime.id());
            for call in calls {
                assert!(is_known_name(call.needed.name), "{}", call.needed.name);
                assert!(
                    names_file_and_function(call.source),
                    "{}: {}",
                    call.needed.name,
                    call.source
                );
            }
        }
    }

    /// Whether a function follows each file of a source, and there is one: `malloc/malloc.c, sysmalloc`.
    fn names_file_and_function(source: &str) -> bool {
        const ENDS: [&str; 8] = [".c", ".cc", ".cpp", ".h", ".hpp", ".go", ".s", ".py"];
        let words: Vec<&str> = source.split([' ', ';']).collect();
        let is_file =
            |word: &str| ENDS.iter().any(|end| word.trim_end_matches([',', ':']).ends_with(end));
        let is_function = |word: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            word.chars().all(|c| is_part(c) || ":.,".contains(c)) && word.contains(is_part)
        };
        let files: Vec<usize> = (0..words.len()).filter(|at| is_file(words[*at])).collect();
        // A function may have moved from one file to another.
        let is_named = |at: &usize| {
            words[*at].ends_with(',')
                && words.get(at + 1).is_some_and(|next| {
                    *next == "later" || is_function(next) && !is_file(next) && *next != "by"
                })
        };
        !files.is_empty() && files.iter().all(is_named)
    }

    #[test]
    fn sources_without_a_file_or_a_function_are_rejected() {
        for source in [
            "the same on 32-bit ABIs",
            "internal/runtime/cgroup, ReadCPULimit",
            "musl src/stdio/__stdio_write.c",
            "glibc nptl/pthread_kill.c: os/posix/signals_posix.cpp, sr_notify",
            "",
        ] {
            assert!(!names_file_and_function(source), "{source}");
        }
    }

    /// Without values, an argument that selects what a syscall does would be free.
    #[test]
    fn arguments_that_can_be_limited_are_limited() {
        for call in LanguageRuntime::ALL.iter().flat_map(|runtime| runtime.calls()) {
            assert_eq!(
                call.needed.values.is_some(),
                limitable::of(call.needed.name).count() == 1,
                "{}",
                call.needed.name
            );
        }
    }
}

//! The groups of syscalls that people know.

/// What a syscall is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// Files by name, and their attributes.
    Files,
    /// Data and events of open descriptors.
    InputOutput,
    /// Sockets.
    Network,
    /// Processes, threads and programs.
    Processes,
    /// Priorities, processors and limits.
    Scheduling,
    /// Address spaces.
    Memory,
    /// Signals.
    Signals,
    /// Clocks, timers and pauses.
    Time,
    /// Message queues, semaphores and shared memory.
    Ipc,
    /// Users, groups, capabilities and keys.
    Credentials,
    /// Filters and rules that a process imposes on itself.
    Sandboxing,
    /// Mounts, roots and namespaces.
    Mounts,
    /// Other processes, and profiling.
    Observation,
    /// The kernel and the whole machine.
    Administration,
    /// Facts about the system, and random numbers.
    Information,
    /// What only some processors have.
    Processor,
    /// Names without an implementation in Linux.
    Unused,
}

impl Purpose {
    /// All groups, in the order in which people should read them.
    pub const ALL: [Purpose; 17] = [
        Purpose::Files,
        Purpose::InputOutput,
        Purpose::Network,
        Purpose::Processes,
        Purpose::Scheduling,
        Purpose::Memory,
        Purpose::Signals,
        Purpose::Time,
        Purpose::Ipc,
        Purpose::Credentials,
        Purpose::Sandboxing,
        Purpose::Mounts,
        Purpose::Observation,
        Purpose::Administration,
        Purpose::Information,
        Purpose::Processor,
        Purpose::Unused,
    ];

    /// A word for machines: lower-case letters and hyphens. It does not change with the title.
    pub fn id(self) -> &'static str {
        match self {
            Purpose::Files => "files",
            Purpose::InputOutput => "input-output",
            Purpose::Network => "network",
            Purpose::Processes => "processes",
            Purpose::Scheduling => "scheduling",
            Purpose::Memory => "memory",
            Purpose::Signals => "signals",
            Purpose::Time => "time",
            Purpose::Ipc => "ipc",
            Purpose::Credentials => "credentials",
            Purpose::Sandboxing => "sandboxing",
            Purpose::Mounts => "mounts",
            Purpose::Observation => "observation",
            Purpose::Administration => "administration",
            Purpose::Information => "information",
            Purpose::Processor => "processor",
            Purpose::Unused => "unused",
        }
    }

    /// A heading.
    pub fn title(self) -> &'static str {
        match self {
            Purpose::Files => "Files and directories",
            Purpose::InputOutput => "Input and output",
            Purpose::Network => "Network",
            Purpose::Processes => "Processes and threads",
            Purpose::Scheduling => "Scheduling and limits",
            Purpose::Memory => "Memory",
            Purpose::Signals => "Signals",
            Purpose::Time => "Clocks and timers",
            Purpose::Ipc => "Communication between processes",
            Purpose::Credentials => "Users, credentials and keys",
            Purpose::Sandboxing => "Sandboxing",
            Purpose::Mounts => "Mounts and namespaces",
            Purpose::Observation => "Observation of other processes",
            Purpose::Administration => "Kernel administration",
            Purpose::Information => "System information",
            Purpose::Processor => "Processor-specific",
            Purpose::Unused => "Never implemented",
        }
    }

    /// What a process can do with these syscalls, as a phrase that follows "It can".
    pub fn description(self) -> &'static str {
        match self {
            Purpose::Files => {
                "open, create, rename and delete files, and change their permissions and attributes"
            }
            Purpose::InputOutput => "read and write open descriptors, and wait for events on them",
            Purpose::Network => "create sockets, connect, accept connections, send and receive",
            Purpose::Processes => "start processes and threads, execute programs, wait and exit",
            Purpose::Scheduling => "choose priorities and processors, and set resource limits",
            Purpose::Memory => "map, protect, lock and release memory of its address space",
            Purpose::Signals => "send, handle, block and wait for signals",
            Purpose::Time => "read clocks, sleep and set timers",
            Purpose::Ipc => "use message queues, semaphores and shared memory with other processes",
            Purpose::Credentials => {
                "read and change users, groups and capabilities, and use the kernel's keyrings"
            }
            Purpose::Sandboxing => {
                "restrict itself further, with seccomp, Landlock and security modules"
            }
            Purpose::Mounts => {
                "mount and unmount file systems, change the root, and enter namespaces"
            }
            Purpose::Observation => "trace, compare and profile processes, and access their memory",
            Purpose::Administration => {
                "load code into the kernel, reboot, and change the clock, swap space and other \
                 settings of the machine"
            }
            Purpose::Information => "ask for facts about the system, and for random numbers",
            Purpose::Processor => "use features that only some processors have",
            Purpose::Unused => "call numbers that no mainline kernel implements",
        }
    }
}

//! Safe wrappers around bpf(2). `unsafe` code.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::asm::{Code, MAIN, NOTE_VALUE};

/// Commands of bpf(2) (`enum bpf_cmd`).
const MAP_CREATE: u32 = 0;
const MAP_LOOKUP: u32 = 1;
const MAP_UPDATE: u32 = 2;
const MAP_DELETE: u32 = 3;
const MAP_NEXT_KEY: u32 = 4;
const PROG_LOAD: u32 = 5;
const PROG_BY_ID: u32 = 13;
const MAP_BY_ID: u32 = 14;
const INFO_BY_FD: u32 = 15;
const RAW_TRACEPOINT_OPEN: u32 = 17;
const BTF_LOAD: u32 = 18;
const LINK_BY_ID: u32 = 30;
const LINK_NEXT_ID: u32 = 31;

/// `BPF_PROG_TYPE_TRACING`.
const TRACING: u32 = 26;

/// Types of maps (`enum bpf_map_type`).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum MapKind {
    /// Entries are allocated on insertion.
    Hash = 1,
    Array = 2,
    /// Preallocated entries, with a value per processor.
    PerCpuHash = 5,
    /// A value per processor.
    PerCpuArray = 6,
    /// Values are maps, which programs can look up.
    HashOfMaps = 13,
}

/// The name of a program or map: letters, digits and underscores, with a zero byte at the end.
pub(super) type Name = [u8; 16];

fn put_name(words: &mut [u32], name: &Name) {
    for (word, bytes) in words.iter_mut().zip(name.chunks_exact(4)) {
        *word = bytes.try_into().map_or(0, u32::from_ne_bytes);
    }
}

fn name_in(words: &[u32]) -> Name {
    let mut name = Name::default();
    for (bytes, word) in name.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    name
}

/// Type and sizes of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) kind: MapKind,
    pub(super) key_size: u32,
    /// 4 for a map of maps.
    pub(super) value_size: u32,
    pub(super) entries: u32,
}

/// The maximum number of processors that Linux supports (`NR_CPUS` in `arch/*/Kconfig`).
const MAX_PROCESSORS: usize = 8192;

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;

/// `BPF_TRACE_RAW_TP`: a tracepoint whose arguments have types.
const AT_TRACEPOINT: u32 = 23;

/// The arguments of a command: the part of `union bpf_attr` that is used here.
#[repr(C, align(8))]
#[derive(Default)]
struct Attr([u32; 32]);

impl Attr {
    fn pointer<T: ?Sized>(&mut self, word: usize, to: *const T) {
        let address = to.cast::<u8>() as usize as u64;
        // A 64-bit member in native byte order, as two 32-bit words.
        let [first, second] = if cfg!(target_endian = "little") {
            [address as u32, (address >> 32) as u32]
        } else {
            [(address >> 32) as u32, address as u32]
        };
        self.0[word] = first;
        self.0[word + 1] = second;
    }

    /// # Safety
    /// Pointers in the arguments must be valid for what the command reads and writes.
    unsafe fn run(&mut self, command: u32) -> io::Result<i64> {
        // SAFETY: the size is that of the arguments; the caller guarantees that pointers in them are valid.
        let result = unsafe {
            libc::syscall(libc::SYS_bpf, command, &raw mut self.0, size_of_val(&self.0) as u32)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    /// # Safety
    /// As for [`run`](Attr::run); the command must return a new descriptor.
    unsafe fn open(&mut self, command: u32) -> io::Result<OwnedFd> {
        // SAFETY: the caller guarantees it.
        let descriptor = unsafe { self.run(command) }?;
        // SAFETY: the command succeeded, so the descriptor is new, and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
    }
}

/// A map; the kernel frees it when this is dropped, unless a program uses it.
pub(super) struct Map {
    descriptor: OwnedFd,
    key_size: usize,
    /// The size of the result of a lookup.
    value_size: usize,
}

impl Map {
    pub(super) fn new(form: Form, name: &Name) -> io::Result<Map> {
        Map::with_template(form, name, None)
    }

    /// Creates a map of maps that have the form of the template.
    pub(super) fn of_maps(form: Form, name: &Name, template: &Map) -> io::Result<Map> {
        Map::with_template(form, name, Some(template))
    }

    fn with_template(form: Form, name: &Name, template: Option<&Map>) -> io::Result<Map> {
        let mut attr = Attr::default();
        let Form { kind, key_size, value_size, entries } = form;
        attr.0[..4].copy_from_slice(&[kind as u32, key_size, value_size, entries]);
        attr.0[4] = if kind == MapKind::Hash { NO_PREALLOC } else { 0 };
        attr.0[5] = template.map_or(0, |template| template.descriptor() as u32);
        put_name(&mut attr.0[7..11], name);
        // SAFETY: these arguments contain no pointer.
        let descriptor = unsafe { attr.open(MAP_CREATE) }?;
        Map::of(descriptor, form)
    }

    /// The map with this ID, if it has this form and name.
    pub(super) fn by_id(id: u32, form: Form, name: &Name) -> io::Result<Option<Map>> {
        let descriptor = by_id(MAP_BY_ID, id)?;
        // Type, ID, sizes of key and value, entries, flags, name (`struct bpf_map_info`).
        let info: [u32; 10] = info(&descriptor)?;
        let expected = [form.kind as u32, id, form.key_size, form.value_size, form.entries];
        if info[..5] != expected || name_in(&info[6..]) != *name {
            return Ok(None);
        }
        Map::of(descriptor, form).map(Some)
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> io::Result<u32> {
        info::<u32, 10>(&self.descriptor).map(|info| info[1])
    }

    fn of(descriptor: OwnedFd, form: Form) -> io::Result<Map> {
        let copies = match form.kind {
            MapKind::Hash | MapKind::Array | MapKind::HashOfMaps => 1,
            MapKind::PerCpuHash => processors()?,
            // Room for a lookup before the number of processors is known.
            MapKind::PerCpuArray => 8 * MAX_PROCESSORS,
        };
        let value_size = (form.value_size as usize).next_multiple_of(8) * copies;
        Ok(Map { descriptor, key_size: form.key_size as usize, value_size })
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    /// The same map by another descriptor.
    pub(super) fn try_clone(&self) -> io::Result<Map> {
        let &Map { key_size, value_size, .. } = self;
        Ok(Map { descriptor: self.descriptor.try_clone()?, key_size, value_size })
    }

    fn attr(&self) -> Attr {
        let mut attr = Attr::default();
        attr.0[0] = self.descriptor() as u32;
        attr
    }

    /// The value of a key, or those of all processors in order; `None` if the key is missing.
    pub(super) fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u64>>> {
        assert_eq!(key.len(), self.key_size);
        let mut value = vec![0_u64; self.value_size / 8];
        let mut attr = self.attr();
        attr.pointer(2, key.as_ptr());
        attr.pointer(4, value.as_mut_ptr());
        // SAFETY: the kernel reads `key_size` bytes of the key, and writes at most `value_size` bytes (whole words, one
        // value per processor in per-processor maps) to memory of that size, which lives until the syscall returns.
        found(unsafe { attr.run(MAP_LOOKUP) }).map(|found| found.then_some(value))
    }

    /// Sets the value of a key; it has as many words as [`get`](Map::get) returns.
    pub(super) fn insert(&self, key: &[u8], value: &[u64]) -> io::Result<()> {
        self.update(key, value, 0)
    }

    /// Like that, unless the key has a value; returns whether it had none.
    pub(super) fn insert_new(&self, key: &[u8], value: &[u64]) -> io::Result<bool> {
        /// `BPF_NOEXIST`.
        const NO_EXIST: u32 = 1;
        match self.update(key, value, NO_EXIST) {
            Ok(()) => Ok(true),
            Err(why) if why.raw_os_error() == Some(libc::EEXIST) => Ok(false),
            Err(why) => Err(why),
        }
    }

    fn update(&self, key: &[u8], value: &[u64], flags: u32) -> io::Result<()> {
        assert_eq!((key.len(), size_of_val(value)), (self.key_size, self.value_size));
        let mut attr = self.attr();
        attr.pointer(2, key.as_ptr());
        attr.pointer(4, value.as_ptr());
        // The low half of a 64-bit member.
        attr.0[if cfg!(target_endian = "little") { 6 } else { 7 }] = flags;
        // SAFETY: the kernel reads `key_size` bytes of the key, and at most `value_size` of the value.
        unsafe { attr.run(MAP_UPDATE) }.map(drop)
    }

    /// The key after a key, or the first; `None` at the end.
    pub(super) fn next_key(&self, key: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        assert!(key.is_none_or(|key| key.len() == self.key_size));
        let mut next = vec![0_u8; self.key_size];
        let mut attr = self.attr();
        attr.pointer(2, key.map_or(std::ptr::null(), <[u8]>::as_ptr));
        attr.pointer(4, next.as_mut_ptr());
        // SAFETY: the kernel reads `key_size` bytes of the key if there is one, and writes as many.
        found(unsafe { attr.run(MAP_NEXT_KEY) }).map(|found| found.then_some(next))
    }

    /// Removes a key; returns whether it was there.
    pub(super) fn remove(&self, key: &[u8]) -> io::Result<bool> {
        assert_eq!(key.len(), self.key_size);
        let mut attr = self.attr();
        attr.pointer(2, key.as_ptr());
        // SAFETY: the kernel reads `key_size` bytes of the key.
        found(unsafe { attr.run(MAP_DELETE) })
    }
}

fn found(result: io::Result<i64>) -> io::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(why) if why.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(why) => Err(why),
    }
}

/// How many processors the kernel supports at most on this machine, which is how many values a lookup writes. The file
/// that lists them can be hidden by a mount, and with a number that is too small the kernel would write beyond our
/// memory. So this looks up nonzero values, with room for eight times the maximum.
pub(super) fn processors() -> io::Result<usize> {
    let key = 0_u32.to_ne_bytes();
    let form = Form { kind: MapKind::PerCpuArray, key_size: 4, value_size: 8, entries: 1 };
    let map = Map::new(form, &Name::default())?;
    map.insert(&key, &vec![1; map.value_size / 8])?;
    let values = map.get(&key)?.unwrap_or_default();
    let count = values.iter().take_while(|value| **value != 0).count();
    let is_known = (1..=MAX_PROCESSORS).contains(&count);
    is_known.then_some(count).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// Types of functions in the kernel.
pub(super) struct Types(OwnedFd);

impl Types {
    /// Loads [`function_types`](super::asm::function_types).
    pub(super) fn new(btf: &[u8]) -> io::Result<Types> {
        let mut attr = Attr::default();
        attr.pointer(0, btf.as_ptr());
        attr.0[4] = btf.len() as u32;
        // SAFETY: the kernel reads as many bytes as there are; it writes no log.
        unsafe { attr.open(BTF_LOAD) }.map(Types)
    }
}

/// A program in the kernel that is not attached yet.
pub(super) struct Loaded(OwnedFd);

/// A program in the kernel and its link to a tracepoint; the kernel frees both with the last descriptor.
pub(super) struct Program {
    descriptor: OwnedFd,
    _link: OwnedFd,
}

/// Why the kernel refused a program.
pub(crate) struct Refused {
    pub(crate) why: io::Error,
    /// The log of the verifier, if that refused it.
    pub(crate) log: String,
}

impl Loaded {
    /// Loads a program for the tracepoint whose type has this ID.
    pub(super) fn new(
        code: &Code,
        types: &Types,
        target: u32,
        name: &Name,
    ) -> Result<Loaded, Refused> {
        let why = match load(code, types, target, name, None) {
            Ok(descriptor) => return Ok(Loaded(descriptor)),
            Err(why) => why,
        };
        let mut log = Vec::new();
        if matches!(why.raw_os_error(), Some(libc::EACCES | libc::EINVAL)) {
            log.resize(1 << 16, 0);
            let _ = load(code, types, target, name, Some(&mut log));
        }
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        Err(Refused { why, log: String::from_utf8_lossy(&log[..end]).into_owned() })
    }

    /// Attaches it to its tracepoint.
    pub(super) fn attach(self) -> Result<Program, Refused> {
        let mut attr = Attr::default();
        // No name: the type determines the tracepoint.
        attr.0[2] = self.0.as_raw_fd() as u32;
        // SAFETY: the pointer to the name is null.
        let link = unsafe { attr.open(RAW_TRACEPOINT_OPEN) };
        let link = link.map_err(|why| Refused { why, log: String::new() })?;
        Ok(Program { descriptor: self.0, _link: link })
    }
}

impl Program {
    /// The program that a link attaches to a tracepoint, with its name and the IDs of its maps, if the user of this
    /// process loaded it.
    pub(super) fn of_link(link: u32) -> io::Result<Option<(Program, Name, Vec<u32>)>> {
        /// `BPF_LINK_TYPE_RAW_TRACEPOINT`.
        const RAW_TRACEPOINT: u32 = 1;
        const MOST_MAPS: usize = 16;
        let link = by_id(LINK_BY_ID, link)?;
        // Type, ID, ID of the program (`struct bpf_link_info`).
        let [kind, _, program, _]: [u32; 4] = info(&link)?;
        if kind != RAW_TRACEPOINT {
            return Ok(None);
        }
        let descriptor = by_id(PROG_BY_ID, program)?;
        let mut maps = [0_u32; MOST_MAPS];
        // `struct bpf_prog_info`: offsets of the user, the number of maps, the pointer to them, and the name.
        const USER: usize = 12;
        let mut info = Info([0_u32; 20]);
        info.0[USER + 1] = MOST_MAPS as u32;
        let mut pointer = Attr::default();
        pointer.pointer(0, maps.as_mut_ptr());
        info.0[USER + 2..USER + 4].copy_from_slice(&pointer.0[..2]);
        // SAFETY: the kernel writes at most the given number of map IDs, to memory that lives until the syscall
        // returns; the other pointers in the structure are null.
        unsafe { read_info(&descriptor, &mut info) }?;
        // SAFETY: takes nothing.
        if info.0[USER] != unsafe { libc::getuid() } {
            return Ok(None);
        }
        let name = name_in(&info.0[USER + 4..]);
        let count = (info.0[USER + 1] as usize).min(MOST_MAPS);
        Ok(Some((Program { descriptor, _link: link }, name, maps[..count].to_vec())))
    }

    /// How often the kernel skipped the program because it was already running on the same processor.
    pub(super) fn misses(&self) -> io::Result<u64> {
        /// The offset of `recursion_misses` in `struct bpf_prog_info`, in bytes (Linux 5.12).
        const MISSES: usize = 208;
        let info: [u64; 32] = info(&self.descriptor)?;
        Ok(info[MISSES / 8])
    }
}

/// The kernel's description of an object.
#[repr(C, align(8))]
struct Info<T>(T);

fn info<T: Copy + Default, const N: usize>(of: &OwnedFd) -> io::Result<[T; N]> {
    let mut info = Info([T::default(); N]);
    // SAFETY: all members are zero, so none points to further memory.
    unsafe { read_info(of, &mut info) }?;
    Ok(info.0)
}

/// # Safety
/// `T` must be integers, and pointers among them valid for what the kernel writes there.
unsafe fn read_info<T>(of: &OwnedFd, info: &mut Info<T>) -> io::Result<()> {
    let mut attr = Attr::default();
    attr.0[0] = of.as_raw_fd() as u32;
    attr.0[1] = size_of::<T>() as u32;
    attr.pointer(2, &raw mut info.0);
    // SAFETY: the kernel writes at most the size of the memory; the caller guarantees the rest.
    unsafe { attr.run(INFO_BY_FD) }.map(drop)
}

/// A descriptor of a kernel object by its ID.
fn by_id(command: u32, id: u32) -> io::Result<OwnedFd> {
    let mut attr = Attr::default();
    attr.0[0] = id;
    // SAFETY: these arguments contain no pointer, and these commands return a descriptor.
    unsafe { attr.open(command) }
}

/// The IDs of all links; needs CAP_SYS_ADMIN.
pub(super) fn links() -> impl Iterator<Item = u32> {
    let next = |id: &u32| {
        let mut attr = Attr::default();
        attr.0[0] = *id;
        // SAFETY: these arguments contain no pointer.
        unsafe { attr.run(LINK_NEXT_ID) }.ok().map(|_| attr.0[1])
    };
    std::iter::successors(next(&0), next)
}

fn load(
    code: &Code,
    types: &Types,
    target: u32,
    name: &Name,
    log: Option<&mut [u8]>,
) -> io::Result<OwnedFd> {
    // Helpers that return the current task require a GPL-compatible licence; MIT is one.
    let license = c"Dual MIT/GPL";
    let mut attr = Attr::default();
    attr.0[0] = TRACING;
    attr.0[1] = code.insns.len() as u32;
    attr.pointer(2, code.insns.as_ptr());
    attr.pointer(4, license.as_ptr());
    if let Some(log) = log {
        attr.0[6] = 1;
        attr.0[7] = log.len() as u32;
        attr.pointer(8, log.as_mut_ptr());
    }
    put_name(&mut attr.0[12..16], name);
    attr.0[17] = AT_TRACEPOINT;
    attr.0[27] = target;
    // Where each function starts, and its type (`struct bpf_func_info`).
    let functions = [[0, MAIN], [code.function.unwrap_or(0) as u32, NOTE_VALUE]];
    if code.function.is_some() {
        attr.0[18] = types.0.as_raw_fd() as u32;
        attr.0[19] = size_of_val(&functions[0]) as u32;
        attr.pointer(20, functions.as_ptr());
        attr.0[22] = functions.len() as u32;
    }
    // SAFETY: the kernel reads the instructions, the functions and the licence, which ends with a zero byte, and writes at
    // most the size of the log to it; all live until the syscall returns.
    unsafe { attr.open(PROG_LOAD) }
}

/// Secret random numbers.
pub(super) fn random<const N: usize>() -> io::Result<[u64; N]> {
    use std::io::Read;
    let mut words = [[0; 8]; N];
    let mut file = File::open("/dev/urandom")?;
    words.iter_mut().try_for_each(|word| file.read_exact(word))?;
    Ok(words.map(u64::from_ne_bytes))
}

#[cfg(test)]
mod tests {
    use super::super::mounted::with_mount;
    use super::*;

    /// The number of values does not depend on a file that is mounted over the list of processors.
    #[test]
    #[ignore = "needs root: creates eBPF maps and mounts a file over another one"]
    fn processors_are_counted_by_the_kernel() {
        const LISTED: &str = "/sys/devices/system/cpu/possible";
        let count = processors().unwrap();
        let listed = std::fs::read_to_string(LISTED).unwrap();
        let listed: usize = listed
            .trim()
            .split(',')
            .map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1
            })
            .sum();
        assert_eq!(count, listed);

        with_mount(LISTED, "0\n", move || {
            assert_eq!(processors().unwrap(), count);
            let form = Form { kind: MapKind::PerCpuHash, key_size: 4, value_size: 8, entries: 1 };
            let map = Map::new(form, &Name::default()).unwrap();
            map.insert(&[1; 4], &vec![7; count]).unwrap();
            assert_eq!(map.get(&[1; 4]).unwrap(), Some(vec![7; count]));
        });
    }
}

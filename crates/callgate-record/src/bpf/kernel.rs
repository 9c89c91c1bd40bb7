//! The calls of bpf(2), as safe functions over plain values. `unsafe` code.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::asm::Insn;

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
const LINK_BY_ID: u32 = 30;
const LINK_NEXT_ID: u32 = 31;

/// `BPF_PROG_TYPE_TRACING`.
const TRACING: u32 = 26;

/// Kinds of maps (`enum bpf_map_type`).
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum MapKind {
    /// Its entries get their memory when they are made.
    Hash = 1,
    Array = 2,
    /// Its entries have their memory from the beginning, and a value for each processor.
    PerCpuHash = 5,
    /// It has a value for each processor.
    PerCpuArray = 6,
    /// Its values are maps; a look-up by a program finds one.
    HashOfMaps = 13,
}

/// A name of a program or a map: letters, digits and underscores, and a zero byte at the end.
pub(super) type Name = [u8; 16];

fn put_name(words: &mut [u32], name: &Name) {
    for (word, bytes) in words.iter_mut().zip(name.as_chunks::<4>().0) {
        *word = u32::from_ne_bytes(*bytes);
    }
}

fn name_in(words: &[u32]) -> Name {
    let mut name = Name::default();
    for (bytes, word) in name.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *bytes = word.to_ne_bytes();
    }
    name
}

/// The form of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) kind: MapKind,
    pub(super) key_size: u32,
    /// In a map of maps, 4.
    pub(super) value_size: u32,
    pub(super) entries: u32,
}

/// How many processors Linux has at most (`NR_CPUS` in `arch/*/Kconfig`).
const MAX_PROCESSORS: usize = 8192;

/// `BPF_F_NO_PREALLOC`.
const NO_PREALLOC: u32 = 1;

/// `BPF_TRACE_RAW_TP`: a tracepoint whose arguments have types.
const AT_TRACEPOINT: u32 = 23;

/// The arguments of a command: `union bpf_attr` up to the largest one that is used here.
#[repr(C, align(8))]
#[derive(Default)]
struct Attr([u32; 32]);

impl Attr {
    fn pointer<T: ?Sized>(&mut self, word: usize, to: *const T) {
        let address = to.cast::<u8>() as usize as u64;
        // 64-bit members have the byte order of the machine, and so has each half.
        let [first, second] = if cfg!(target_endian = "little") {
            [address as u32, (address >> 32) as u32]
        } else {
            [(address >> 32) as u32, address as u32]
        };
        self.0[word] = first;
        self.0[word + 1] = second;
    }

    /// # Safety
    /// Pointers in the arguments are valid for what the command reads and writes.
    unsafe fn run(&mut self, command: u32) -> io::Result<i64> {
        // SAFETY: the arguments are as large as said, and the caller vouches for pointers in them.
        let result = unsafe {
            libc::syscall(libc::SYS_bpf, command, &raw mut self.0, size_of_val(&self.0) as u32)
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    /// # Safety
    /// As [`run`](Attr::run); the command gives a descriptor.
    unsafe fn open(&mut self, command: u32) -> io::Result<OwnedFd> {
        // SAFETY: the caller vouches for it.
        let descriptor = unsafe { self.run(command) }?;
        // SAFETY: the command succeeded, so the descriptor is new and belongs to nobody else.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
    }
}

/// A map; it ends with the value, unless a program uses it.
pub(super) struct Map {
    descriptor: OwnedFd,
    key_size: usize,
    /// How much a look-up gives for a key.
    value_size: usize,
}

impl Map {
    pub(super) fn new(form: Form, name: &Name) -> io::Result<Map> {
        Map::with_template(form, name, None)
    }

    /// A map of maps, which have the form of the template.
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
        // SAFETY: there is no pointer in these arguments.
        let descriptor = unsafe { attr.open(MAP_CREATE) }?;
        Map::of(descriptor, form)
    }

    /// The map of this number, if it has this form and name.
    pub(super) fn by_id(id: u32, form: Form, name: &Name) -> io::Result<Option<Map>> {
        let descriptor = by_id(MAP_BY_ID, id)?;
        // Type, number, sizes of key and value, entries, flags, name (`struct bpf_map_info`).
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
            // A look-up that must do with the most.
            MapKind::PerCpuArray => 8 * MAX_PROCESSORS,
        };
        let value_size = (form.value_size as usize).next_multiple_of(8) * copies;
        Ok(Map { descriptor, key_size: form.key_size as usize, value_size })
    }

    pub(super) fn descriptor(&self) -> i32 {
        self.descriptor.as_raw_fd()
    }

    fn attr(&self) -> Attr {
        let mut attr = Attr::default();
        attr.0[0] = self.descriptor() as u32;
        attr
    }

    /// The value of a key, for each processor one after the other; `None` when there is none.
    pub(super) fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u64>>> {
        assert_eq!(key.len(), self.key_size);
        let mut value = vec![0_u64; self.value_size / 8];
        let mut attr = self.attr();
        attr.pointer(2, key.as_ptr());
        attr.pointer(4, value.as_mut_ptr());
        // SAFETY: the kernel reads `key_size` bytes of the key, and writes at most `value_size` (values of whole
        // words, one for each processor where the map has that) to memory that is as large and lives until
        // the call returns.
        found(unsafe { attr.run(MAP_LOOKUP) }).map(|found| found.then_some(value))
    }

    /// Gives a key a value, which has as many words as [`get`](Map::get) gives.
    pub(super) fn insert(&self, key: &[u8], value: &[u64]) -> io::Result<()> {
        assert_eq!((key.len(), size_of_val(value)), (self.key_size, self.value_size));
        let mut attr = self.attr();
        attr.pointer(2, key.as_ptr());
        attr.pointer(4, value.as_ptr());
        // SAFETY: the kernel reads `key_size` bytes of the key, and at most `value_size` of the value.
        unsafe { attr.run(MAP_UPDATE) }.map(drop)
    }

    /// The key behind a key, or the first; `None` when there is none.
    pub(super) fn next_key(&self, key: Option<&[u8]>) -> io::Result<Option<Vec<u8>>> {
        assert!(key.is_none_or(|key| key.len() == self.key_size));
        let mut next = vec![0_u8; self.key_size];
        let mut attr = self.attr();
        attr.pointer(2, key.map_or(std::ptr::null(), <[u8]>::as_ptr));
        attr.pointer(4, next.as_mut_ptr());
        // SAFETY: the kernel reads `key_size` bytes of the key if there is one, and writes as many.
        found(unsafe { attr.run(MAP_NEXT_KEY) }).map(|found| found.then_some(next))
    }

    /// Removes a key; whether it was there.
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

/// How many processors the kernel has room for, and so how many values it gives for a key. Files that tell
/// that can be replaced by a mount, and too small a number would let the kernel write beyond our memory. So
/// the kernel is asked for values that are not zero, with room for eight times the most.
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

/// A program in the kernel, and what attaches it to its tracepoint: both end when nobody has them any more.
pub(super) struct Program {
    descriptor: OwnedFd,
    _link: OwnedFd,
}

/// Why a program is not taken.
pub(crate) struct Refused {
    pub(crate) why: io::Error,
    /// What the kernel's verifier says, if it is the program that it does not like.
    pub(crate) log: String,
}

impl Program {
    /// Loads a program for the tracepoint whose type has this number; it runs from now on.
    pub(super) fn new(code: &[Insn], target: u32, name: &Name) -> Result<Program, Refused> {
        let why = match load(code, target, name, None).and_then(Program::attach) {
            Ok(program) => return Ok(program),
            Err(why) => why,
        };
        let mut log = Vec::new();
        if matches!(why.raw_os_error(), Some(libc::EACCES | libc::EINVAL)) {
            log.resize(1 << 16, 0);
            let _ = load(code, target, name, Some(&mut log));
        }
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        Err(Refused { why, log: String::from_utf8_lossy(&log[..end]).into_owned() })
    }

    fn attach(descriptor: OwnedFd) -> io::Result<Program> {
        let mut attr = Attr::default();
        // No name: the type that it was loaded for says where.
        attr.0[2] = descriptor.as_raw_fd() as u32;
        // SAFETY: the pointer to the name is null.
        let link = unsafe { attr.open(RAW_TRACEPOINT_OPEN) }?;
        Ok(Program { descriptor, _link: link })
    }

    /// The program that a link attaches to a tracepoint, with its name and the numbers of its maps, if this
    /// process's user loaded it.
    pub(super) fn of_link(link: u32) -> io::Result<Option<(Program, Name, Vec<u32>)>> {
        /// `BPF_LINK_TYPE_RAW_TRACEPOINT`.
        const RAW_TRACEPOINT: u32 = 1;
        const MOST_MAPS: usize = 16;
        let link = by_id(LINK_BY_ID, link)?;
        // Type, number, number of the program (`struct bpf_link_info`).
        let [kind, _, program, _]: [u32; 4] = info(&link)?;
        if kind != RAW_TRACEPOINT {
            return Ok(None);
        }
        let descriptor = by_id(PROG_BY_ID, program)?;
        let mut maps = [0_u32; MOST_MAPS];
        // `struct bpf_prog_info`; where the user, the number of maps, the pointer to them and the name are.
        const USER: usize = 12;
        let mut info = Info([0_u32; 20]);
        info.0[USER + 1] = MOST_MAPS as u32;
        let mut pointer = Attr::default();
        pointer.pointer(0, maps.as_mut_ptr());
        info.0[USER + 2..USER + 4].copy_from_slice(&pointer.0[..2]);
        // SAFETY: the kernel writes at most as many numbers of maps as said, to memory that lives until the call
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

    /// How often the program was not run because it was running already on the processor.
    pub(super) fn misses(&self) -> io::Result<u64> {
        /// Where `recursion_misses` is in `struct bpf_prog_info`, in bytes (Linux 5.12).
        const MISSES: usize = 208;
        let info: [u64; 32] = info(&self.descriptor)?;
        Ok(info[MISSES / 8])
    }
}

/// What the kernel tells of something.
#[repr(C, align(8))]
struct Info<T>(T);

fn info<T: Copy + Default, const N: usize>(of: &OwnedFd) -> io::Result<[T; N]> {
    let mut info = Info([T::default(); N]);
    // SAFETY: all is zero, so no member asks for more to be written elsewhere.
    unsafe { read_info(of, &mut info) }?;
    Ok(info.0)
}

/// # Safety
/// `T` are integers, and pointers among them are valid for what the kernel writes there.
unsafe fn read_info<T>(of: &OwnedFd, info: &mut Info<T>) -> io::Result<()> {
    let mut attr = Attr::default();
    attr.0[0] = of.as_raw_fd() as u32;
    attr.0[1] = size_of::<T>() as u32;
    attr.pointer(2, &raw mut info.0);
    // SAFETY: the kernel writes at most as many bytes as the memory has; for the rest the caller vouches.
    unsafe { attr.run(INFO_BY_FD) }.map(drop)
}

/// Something of the kernel by its number.
fn by_id(command: u32, id: u32) -> io::Result<OwnedFd> {
    let mut attr = Attr::default();
    attr.0[0] = id;
    // SAFETY: there is no pointer in these arguments, and the commands for this give a descriptor.
    unsafe { attr.open(command) }
}

/// The numbers of all links; needs CAP_SYS_ADMIN.
pub(super) fn links() -> impl Iterator<Item = u32> {
    let next = |id: &u32| {
        let mut attr = Attr::default();
        attr.0[0] = *id;
        // SAFETY: there is no pointer in these arguments.
        unsafe { attr.run(LINK_NEXT_ID) }.ok().map(|_| attr.0[1])
    };
    std::iter::successors(next(&0), next)
}

fn load(code: &[Insn], target: u32, name: &Name, log: Option<&mut [u8]>) -> io::Result<OwnedFd> {
    // The functions that tell about the current task are for programs that may be used under the GPL,
    // too; this one may, as the MIT licence permits it.
    let license = c"Dual MIT/GPL";
    let mut attr = Attr::default();
    attr.0[0] = TRACING;
    attr.0[1] = code.len() as u32;
    attr.pointer(2, code.as_ptr());
    attr.pointer(4, license.as_ptr());
    if let Some(log) = log {
        attr.0[6] = 1;
        attr.0[7] = log.len() as u32;
        attr.pointer(8, log.as_mut_ptr());
    }
    put_name(&mut attr.0[12..16], name);
    attr.0[17] = AT_TRACEPOINT;
    attr.0[27] = target;
    // SAFETY: the kernel reads the instructions and the license, which ends with a zero byte, and writes
    // to the log as many bytes as it has; all live until the call returns.
    unsafe { attr.open(PROG_LOAD) }
}

/// Random numbers that nobody else knows.
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

    /// The kernel writes as many values as it has room for processors, whatever a file says that is mounted over
    /// the one that lists them.
    #[test]
    fn processors_are_counted_by_the_kernel() {
        const LISTED: &str = "/sys/devices/system/cpu/possible";
        let count = match processors() {
            Ok(count) => count,
            Err(why) => return eprintln!("not run: the kernel gives no maps: {why}"),
        };
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

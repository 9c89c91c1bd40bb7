//! The plan of a guest, and its initial file system.

use callgate::{Endian, SeccompData};
use callgate_core::Program;

use super::cpio::Archive;
use callgate_tasks::Result;

/// A syscall that a guest makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Call {
    nr: u32,
    args: [u64; 6],
    /// The expected errno, or how to make the syscall.
    what: u32,
}

/// As `enum` in guest.c.
const PLAIN: u32 = 0;
const UNIXBENCH: u32 = 1;
const FUTEX: u32 = 2;
const WAITS: u32 = 3;

impl Call {
    /// A syscall to be timed.
    pub(super) fn plain(nr: u32, args: [u64; 6]) -> Call {
        Call { nr, args, what: PLAIN }
    }

    /// UnixBench's loop of five syscalls.
    pub(super) fn unixbench() -> Call {
        Call { nr: 0, args: [0; 6], what: UNIXBENCH }
    }

    /// A futex syscall with this operation that does not wait.
    pub(super) fn futex(nr: u32, operation: u64) -> Call {
        Call { nr, args: [0, operation, 0, 0, 0, 0], what: FUTEX }
    }

    /// The waits of 256 threads for a condition. In a plan, this is the only call of its line.
    pub(super) fn waits() -> Call {
        Call { nr: 0, args: [0; 6], what: WAITS }
    }

    /// A syscall with its expected errno.
    pub(super) fn expecting(data: &SeccompData, errno: u16) -> Call {
        Call { nr: data.nr, args: data.args, what: errno.into() }
    }

    #[cfg(test)]
    pub(super) fn args(self) -> [u64; 6] {
        self.args
    }

    /// As `struct call` in guest.c.
    fn to_bytes(self, endian: Endian) -> Vec<u8> {
        let word = |value: u32| match endian {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        let long = |value: u64| match endian {
            Endian::Little => value.to_le_bytes(),
            Endian::Big => value.to_be_bytes(),
        };
        let mut bytes = [word(self.nr), word(self.what)].concat();
        bytes.extend(self.args.iter().flat_map(|arg| long(*arg)));
        bytes
    }
}

/// The number of a line of the plan, which identifies its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line(pub(super) usize);

/// A plan and its files.
pub(super) struct Plan {
    endian: Endian,
    text: String,
    lines: usize,
    /// Each content once; the name of a file is its index.
    files: Vec<Vec<u8>>,
}

impl Plan {
    pub(super) fn new(endian: Endian) -> Plan {
        Plan { endian, text: String::new(), lines: 0, files: Vec::new() }
    }

    /// Enables or disables the kernel's JIT compiler from here on.
    pub(super) fn jit(&mut self, on: bool) {
        self.text += if on { "jit 1\n" } else { "jit 0\n" };
    }

    /// Times each syscall under these filters, the oldest first.
    pub(super) fn time(&mut self, calls: &[Call], stack: &[Program]) -> Line {
        let mut words = self.calls(calls);
        for program in stack {
            words += &self.program(program);
        }
        self.line("time", &words)
    }

    /// Compares the errno of each syscall with the expected one; with `narrow`, through the 32-bit ABI.
    pub(super) fn ask(&mut self, program: &Program, calls: &[Call], narrow: bool) -> Line {
        let words = self.program(program) + &self.calls(calls);
        self.line(if narrow { "ask32" } else { "ask" }, &words)
    }

    fn line(&mut self, verb: &str, words: &str) -> Line {
        let line = Line(self.lines);
        self.lines += 1;
        self.text += &format!("{verb} {}{words}\n", line.0);
        line
    }

    fn program(&mut self, program: &Program) -> String {
        self.file(program.to_bytes(self.endian))
    }

    fn calls(&mut self, calls: &[Call]) -> String {
        self.file(calls.iter().flat_map(|call| call.to_bytes(self.endian)).collect())
    }

    fn file(&mut self, content: Vec<u8>) -> String {
        let known = self.files.iter().position(|file| *file == content);
        let place = known.unwrap_or_else(|| {
            self.files.push(content);
            self.files.len() - 1
        });
        format!(" /f/{place}")
    }

    /// The initial file system: the program that executes the plan, the plan and its files.
    pub(super) fn initrd(&self, program: &[u8]) -> Result<Vec<u8>> {
        let mut archive = Archive::default();
        for directory in ["dev", "proc", "f"] {
            archive.directory(directory)?;
        }
        archive.device("dev/console", 5, 1)?;
        archive.file("init", program)?;
        archive.file("plan", self.text.as_bytes())?;
        for (place, content) in self.files.iter().enumerate() {
            archive.file(&format!("f/{place}"), content)?;
        }
        archive.finish()
    }
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::{Insn, Op};

    use super::*;

    #[test]
    fn a_plan_names_each_file_once_in_the_order_of_the_guest() {
        let allow = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap();
        let mut plan = Plan::new(Endian::Big);
        let call = Call::plain(20, [1, 0, 0, 0, 0, 2]);
        plan.jit(false);
        assert_eq!(plan.time(&[call], &[]), Line(0));
        assert_eq!(plan.time(&[call], &[allow.clone(), allow.clone()]), Line(1));
        let data = SeccompData { nr: 7, ..SeccompData::default() };
        assert_eq!(plan.ask(&allow, &[Call::expecting(&data, 3)], true), Line(2));
        let text = "jit 0\ntime 0 /f/0\ntime 1 /f/0 /f/1 /f/1\nask32 2 /f/1 /f/2\n";
        assert_eq!(plan.text, text);
        assert_eq!(plan.files[1], [0, 6, 0, 0, 0x7f, 0xff, 0, 0]);
        assert_eq!(plan.files[0].len(), 56);
        assert_eq!((plan.files[0][3], plan.files[0][15], plan.files[0][55]), (20, 1, 2));
        assert_eq!((plan.files[2][3], plan.files[2][7]), (7, 3));
    }
}

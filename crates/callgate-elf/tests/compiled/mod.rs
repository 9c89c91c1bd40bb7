//! Compiles programs without a C library, and analyses them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_elf::{Analysis, File, Image, Role};
use callgate_testing::{Need, Skip, needs_program};

/// A syscall with one argument, and an entry point that calls `start` and exits without a syscall.
pub(crate) const START: &str = "
    #define NOINLINE __attribute__((noinline, noclone))
    #define USED __attribute__((used))
    static volatile long sink;
    static inline __attribute__((always_inline)) long call(long number, long first) {
    #ifdef __x86_64__
      long result;
      __asm__ volatile(\"syscall\" : \"=a\"(result) : \"a\"(number), \"D\"(first) : \"rcx\", \"r11\", \"memory\");
      return result;
    #else
      register long x8 __asm__(\"x8\") = number;
      register long x0 __asm__(\"x0\") = first;
      __asm__ volatile(\"svc 0\" : \"+r\"(x0) : \"r\"(x8) : \"memory\");
      return x0;
    #endif
    }
";

const ENTRY: &str = "
    NOINLINE USED void start(void);
    void _start(void) { start(); __builtin_trap(); }
";

/// A compiler, for one of the architectures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compiler {
    name: &'static str,
    program: &'static str,
}

impl Compiler {
    pub(crate) const ALL: [Compiler; 2] = [
        Compiler { name: "x86_64", program: "x86_64-linux-gnu-gcc" },
        Compiler { name: "aarch64", program: "aarch64-linux-gnu-gcc" },
    ];

    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// Compiles a file; the linker uses no C library.
    fn compile(self, source: &str, output: &Path, options: &[&str]) -> Result<(), Skip> {
        let need = if self.name == "x86_64" { Need::Tool } else { Need::Qemu };
        needs_program(need, self.program)?;
        let input = output.with_extension("c");
        std::fs::write(&input, source).unwrap();
        let compiled = Command::new(self.program)
            // Values in registers that a callee happens not to change are not followed.
            .args(["-nostdlib", "-ffreestanding", "-fno-stack-protector", "-fno-ipa-ra"])
            .args(["-w", "-o"])
            .arg(output)
            .arg(&input)
            .args(options)
            .args(if self.name == "x86_64" { &[][..] } else { &["-mno-outline-atomics"] })
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        Ok(())
    }
}

/// A directory of its own for each test.
fn directory() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("elf-{}-{number}", std::process::id());
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn image(path: &Path) -> Image {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Image::parse(&name, std::fs::read(path).unwrap()).unwrap()
}

/// Analyses a program without libraries. If no option says otherwise, it is static.
pub(crate) fn analyze(gcc: Compiler, code: &str, options: &[&str]) -> Result<Analysis, Skip> {
    let directory = directory();
    let path = directory.join("program");
    let mut options = options.to_vec();
    if !options.contains(&"-pie") {
        options.extend(["-static", "-no-pie", "-fno-pie"]);
    }
    gcc.compile(&with_entry(code), &path, &options)?;
    let files = vec![File { image: image(&path), role: Role::Program }];
    std::fs::remove_dir_all(directory).unwrap();
    Ok(callgate_elf::analyze(files).unwrap())
}

/// Analyses a program with a shared library.
pub(crate) fn with_library(
    gcc: Compiler,
    code: &str,
    library: &str,
    options: &[&str],
) -> Result<Analysis, Skip> {
    let directory = directory();
    let (path, shared) = (directory.join("program"), directory.join("library.so"));
    gcc.compile(library, &shared, &["-O2", "-shared", "-fPIC"])?;
    let mut options = options.to_vec();
    let shared_name = shared.to_string_lossy().into_owned();
    options.push(&shared_name);
    gcc.compile(&with_entry(code), &path, &options)?;
    let files = vec![
        File { image: image(&path), role: Role::Program },
        File { image: image(&shared), role: Role::Library },
    ];
    std::fs::remove_dir_all(directory).unwrap();
    Ok(callgate_elf::analyze(files).unwrap())
}

fn with_entry(code: &str) -> String {
    code.replace(START, &format!("{START}{ENTRY}"))
}

/// The numbers of the syscalls.
pub(crate) fn numbers(analysis: &Analysis) -> Vec<u32> {
    analysis.calls.keys().copied().collect()
}

//! ELF files: they are analysed, or refused with a message.

use callgate_elf::{File, Image, Role, analyze};

/// Inputs are short; the sections of a real file need some pages.
const MAX_SIZE: usize = 1 << 16;

/// Reads the input as a program, and as a program with itself as a library and as the loader.
pub fn binary(input: &[u8]) {
    let input = &input[..input.len().min(MAX_SIZE)];
    let parse = |name: &str| match Image::parse(name, input.to_vec()) {
        Ok(image) => Some(image),
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.help().is_empty());
            None
        }
    };
    let (Some(program), Some(library), Some(loader)) =
        (parse("program"), parse("library"), parse("loader"))
    else {
        return;
    };
    let files = vec![
        File { image: program, role: Role::Program },
        File { image: library, role: Role::Plugin },
        File { image: loader, role: Role::Loader },
    ];
    if let Ok(analysis) = analyze(files) {
        assert!(analysis.reachable <= analysis.functions, "{analysis:?}");
        for site in analysis.calls.values().flatten() {
            assert!(!site.file.is_empty() && !site.function.is_empty(), "{site:?}");
        }
    }
}

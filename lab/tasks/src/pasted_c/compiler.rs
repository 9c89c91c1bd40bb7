//! Runs gcc on many texts, each a translation unit of its own, and reads the arrays.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use callgate_core::RawInsn;

use callgate_tasks::Result;

/// A directory in which texts are compiled.
pub(super) struct Compiler {
    directory: PathBuf,
}

const PRINT: &str = "#include <linux/filter.h>
#include <stdio.h>
void print(int number, const struct sock_filter *at, unsigned long size)
{
	printf(\"%d %lu\", number, size / sizeof *at);
	for (const struct sock_filter *end = at + size / sizeof *at; at < end; at++)
		printf(\" %u %u %u %u\", at->code, at->jt, at->jf, at->k);
	printf(\"\\n\");
}
";

impl Compiler {
    /// # Errors
    /// If there is no gcc, or no directory.
    pub(super) fn new() -> Result<Compiler> {
        let version = Command::new("gcc").arg("--version").stdout(Stdio::null()).status();
        version.map_err(|error| format!("gcc is needed: {error}"))?;
        let directory =
            std::env::temp_dir().join(format!("callgate-pasted-c-{}", std::process::id()));
        fs::create_dir_all(&directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        Ok(Compiler { directory })
    }

    /// The array `filter` of each text, after the function that the macro `CHANGE` of the text names; `None` for texts that gcc
    /// refuses.
    ///
    /// # Errors
    /// If the compiled program cannot be built or executed.
    pub(super) fn arrays(&self, texts: &[String]) -> Result<Vec<Option<Vec<RawInsn>>>> {
        let path = |name: String| self.directory.join(name);
        let write = |name: String, text: &str| {
            fs::write(path(name), text).map_err(|error| format!("cannot write a text: {error}"))
        };
        write("print.c".to_owned(), PRINT)?;
        for (number, text) in texts.iter().enumerate() {
            // All are linked together.
            let unit = format!(
                "#define filter filter{number}\n#include \"t{number}.inc\"\nvoid print(int, const void *, unsigned long);\n\
                 void show{number}(void)\n{{\n#ifdef CHANGE\n\tCHANGE();\n#endif\n\tprint({number}, filter, sizeof filter);\n}}\n"
            );
            write(format!("t{number}.inc"), text)?;
            write(format!("t{number}.c"), &unit)?;
            let _ = fs::remove_file(path(format!("t{number}.o")));
        }
        let units: Vec<String> = (0..texts.len()).map(|number| format!("t{number}.c")).collect();
        // One that fails does not stop the others.
        self.gcc(&["-w", "-O0", "-c"], &units)?;
        let compiled: Vec<usize> =
            (0..texts.len()).filter(|number| path(format!("t{number}.o")).exists()).collect();
        let mut main = String::new();
        let mut calls = String::new();
        for number in &compiled {
            main.push_str(&format!("void show{number}(void);\n"));
            calls.push_str(&format!("\tshow{number}();\n"));
        }
        write("main.c".to_owned(), &format!("{main}int main(void)\n{{\n{calls}\treturn 0;\n}}\n"))?;
        let mut parts: Vec<String> = compiled.iter().map(|number| format!("t{number}.o")).collect();
        parts.extend(["main.c".to_owned(), "print.c".to_owned()]);
        if !self.gcc(&["-w", "-o", "arrays"], &parts)? {
            return Err("gcc cannot link the texts".to_owned());
        }
        let output = Command::new(path("arrays".to_owned()))
            .output()
            .map_err(|error| format!("cannot execute the compiled texts: {error}"))?;
        let mut arrays: BTreeMap<usize, Vec<RawInsn>> = BTreeMap::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let numbers: Vec<u32> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            let (Some(number), Some(fields)) = (numbers.first(), numbers.get(2..)) else {
                continue;
            };
            let (rows, _) = fields.as_chunks();
            let row = |[code, jt, jf, k]: &[u32; 4]| RawInsn {
                code: *code as u16,
                jt: *jt as u8,
                jf: *jf as u8,
                k: *k,
            };
            arrays.insert(*number as usize, rows.iter().map(row).collect());
        }
        Ok((0..texts.len()).map(|number| arrays.remove(&number)).collect())
    }

    fn gcc(&self, options: &[&str], files: &[String]) -> Result<bool> {
        let status = Command::new("gcc")
            .args(options)
            .args(files)
            .current_dir(&self.directory)
            .stderr(Stdio::null())
            .status();
        status.map(|status| status.success()).map_err(|error| format!("gcc: {error}"))
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

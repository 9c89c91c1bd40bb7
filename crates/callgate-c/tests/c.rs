//! C and C++ programs that use the library as its header says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use callgate::Arch;
use callgate::emit::{SourceLanguage, SourceOptions, template_source};
use callgate_requests::source::{Messages, Reading, SourceContent, SourceText};
use callgate_requests::{Compiling, programs};
use callgate_testing::{Need, Skip, TestResult, needs_program};

callgate_testing::tests![
    answers_are_those_of_the_vectors,
    c_programs_use_every_function,
    cpp_programs_use_every_function,
    memory_is_used_correctly,
    the_emitted_installer_agrees_with_the_header,
    the_example_of_the_documentation_runs,
    the_library_exports_what_the_header_declares,
    the_first_program_of_the_page_runs,
];

const FLAGS: &[&str] = &["-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread"];
const ASAN: &[&str] = &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

fn own(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The directory of the library: Cargo builds it beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let directory = test.parent().unwrap();
    assert!(directory.join("libcallgate_c.so").exists(), "no library in {}", directory.display());
    directory.to_owned()
}

/// A directory for one test.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Compiles a program in a directory and links it with the library.
fn build(compiler: &str, flags: &[&str], source: &Path, directory: &Path) -> PathBuf {
    let program = directory.join("program");
    let mut command = Command::new(compiler);
    command.args(flags).args(FLAGS).arg("-I").arg(own("include")).arg("-I").arg(directory);
    command.arg("-o").arg(&program).arg(source);
    let output = command.arg("-L").arg(library()).arg("-lcallgate_c").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    program
}

/// A program with the library, which is killed after 4 minutes.
fn command(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("240").arg(program).env("LD_LIBRARY_PATH", library());
    command
}

/// Runs a program with the library, and returns what it prints.
fn run(program: &Path, args: &[PathBuf]) -> String {
    let output = command(program).args(args).output().unwrap();
    assert!(output.status.success(), "{}: {}", output.status, text(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn answers_are_those_of_the_vectors() -> TestResult {
    needs_program(Need::Tool, "cc")?;
    let mut files = Vec::new();
    for entry in fs::read_dir(own("../../bindings/vectors")).unwrap() {
        let request = entry.unwrap().path();
        let path = request.to_string_lossy();
        if let Some(stem) = path.strip_suffix(".request.json") {
            let answer = PathBuf::from(format!("{stem}.answer.json"));
            files.extend([request, answer]);
        }
    }
    let directory = directory("vectors");
    let program = build("cc", &["-std=c11"], &own("tests/c/vectors.c"), &directory);
    assert_eq!(run(&program, &files), format!("{} answers\n", files.len() / 2));
    assert!(files.len() > 80, "only {} files", files.len());
    Ok(())
}

fn c_programs_use_every_function() -> TestResult {
    needs_program(Need::Tool, "cc")?;
    let directory = directory("functions");
    let flags = ["-std=c11", "-D_GNU_SOURCE"];
    let program = build("cc", &flags, &own("tests/c/functions.c"), &directory);
    assert_eq!(run(&program, &[]), "all is well\n");
    Ok(())
}

fn cpp_programs_use_every_function() -> TestResult {
    needs_program(Need::Tool, "c++")?;
    let directory = directory("functions-cpp");
    let flags = ["-x", "c++", "-std=c++11"];
    let program = build("c++", &flags, &own("tests/c/functions.c"), &directory);
    assert_eq!(run(&program, &[]), "all is well\n");
    Ok(())
}

/// The sanitizers also find what is not freed, and read beyond a buffer, in the library: its allocator is malloc(3).
fn memory_is_used_correctly() -> TestResult {
    needs_program(Need::Tool, "cc")?;
    let directory = directory("sanitized");
    let empty = directory.join("empty.c");
    fs::write(&empty, "int main(void) { return 0; }\n").unwrap();
    let mut command = Command::new("cc");
    let output = command.args(ASAN).arg("-o").arg(directory.join("empty")).arg(&empty).output();
    if !output.unwrap().status.success() {
        return Err(Skip::new(Need::Tool, "cc has no AddressSanitizer"));
    }
    let flags = [&["-std=c11", "-D_GNU_SOURCE"], ASAN].concat();
    let program = build("cc", &flags, &own("tests/c/functions.c"), &directory);
    assert_eq!(run(&program, &[]), "all is well\n");
    Ok(())
}

fn the_emitted_installer_agrees_with_the_header() -> TestResult {
    needs_program(Need::Tool, "cc")?;
    let native = Arch::native().unwrap();
    let directory = directory("installer");
    for (name, file, policy) in [
        ("filter", "emitted.h", "ERRNO(33) { fchmod { fd == $fd } } DEFAULT ALLOW"),
        ("notifying", "notifying.h", "USER_NOTIF { fchmod { fd == $fd } } DEFAULT ALLOW"),
    ] {
        let source = SourceText::new(SourceContent::Text(policy.to_owned()), Reading::new(native));
        let made = programs::template(&source, &Compiling::default(), &mut Messages::new());
        let options = SourceOptions {
            name: Some(name.to_owned()),
            installer: true,
            ..SourceOptions::new(SourceLanguage::C)
        };
        let text = template_source(&made.unwrap().program, &options).unwrap();
        fs::write(directory.join(file), text).unwrap();
    }
    let program = build("cc", &["-std=c11"], &own("tests/c/installer.c"), &directory);
    assert_eq!(run(&program, &[]), "all is well\n");
    Ok(())
}

/// The text after a heading in `docs/how-to/filters-in-c.md`: the next indented block.
fn block(document: &str, before: &str) -> String {
    let (_, rest) = document.split_once(before).unwrap_or_else(|| panic!("no {before:?}"));
    let lines = rest.lines().skip_while(|line| !line.starts_with("    "));
    let block = lines.take_while(|line| line.is_empty() || line.starts_with("    "));
    let text: Vec<&str> = block.map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
    format!("{}\n", text.join("\n").trim_end())
}

fn the_example_of_the_documentation_runs() -> TestResult {
    needs_program(Need::Tool, "cc")?;
    let document = fs::read_to_string(own("../../docs/how-to/filters-in-c.md")).unwrap();
    let directory = directory("example");
    let source = directory.join("sandbox.c");
    fs::write(&source, block(&document, "<!-- sandbox.c -->")).unwrap();
    let policy = directory.join("sandbox.kafel");
    fs::write(&policy, block(&document, "<!-- sandbox.kafel -->")).unwrap();
    let program = build("cc", &["-std=c11"], &source, &directory);
    assert_eq!(run(&program, std::slice::from_ref(&policy)), "this is allowed\n");

    // The same policy with a mistake, whose message the document shows.
    let wrong = fs::read_to_string(&policy).unwrap().replace("write", "wriet");
    fs::write(&policy, wrong).unwrap();
    let output = command(&program).arg("sandbox.kafel").current_dir(&directory).output().unwrap();
    assert!(!output.status.success());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(block(&document, "<!-- message -->").ends_with(&message), "{message}");
    Ok(())
}

/// The first program of the page about C: the block after its mark.
fn the_first_program_of_the_page_runs() -> TestResult {
    needs_program(Need::Tool, "cc")?;
    let document = fs::read_to_string(own("../../docs/how-to/filters-in-c.md")).unwrap();
    let (_, rest) = document.split_once("<!-- c -->\n```c\n").unwrap();
    let (text, _) = rest.split_once("```\n").unwrap();
    let directory = directory("page");
    let source = directory.join("page.c");
    fs::write(&source, text).unwrap();
    let program = build("cc", &["-std=gnu11"], &source, &directory);
    assert_eq!(run(&program, &[]), "allowed\n");
    Ok(())
}

/// The functions in a text: identifiers with the prefix `callgate_` before a parenthesis, outside comments.
fn functions(text: &str) -> BTreeSet<String> {
    let mut code = String::new();
    for (place, part) in text.split("/*").enumerate() {
        code += if place == 0 { part } else { part.split_once("*/").map_or("", |(_, code)| code) };
    }
    let before = code
        .split('(')
        .filter_map(|part| part.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next());
    before.filter(|name| name.starts_with("callgate_")).map(str::to_owned).collect()
}

fn the_library_exports_what_the_header_declares() -> TestResult {
    let header = functions(&fs::read_to_string(own("include/callgate.h")).unwrap());
    assert!(header.len() > 30, "{header:?}");
    let used = functions(&fs::read_to_string(own("tests/c/functions.c")).unwrap());
    let unused: Vec<_> = header.difference(&used).collect();
    assert!(unused.is_empty(), "functions.c does not use {unused:?}");

    needs_program(Need::Tool, "nm")?;
    let mut command = Command::new("nm");
    let output = command.args(["--dynamic", "--defined-only", "--format=posix"]);
    let output = output.arg(library().join("libcallgate_c.so")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let symbols = String::from_utf8(output.stdout).unwrap();
    let symbols = symbols.lines().filter_map(|line| line.split_whitespace().next());
    let symbols: BTreeSet<String> = symbols.map(str::to_owned).collect();
    assert_eq!(symbols, header);
    Ok(())
}

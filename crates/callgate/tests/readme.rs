//! The examples in Rust of the READMEs compile: documentation tests of the crate have the same lines.

use std::fs;
use std::path::Path;

#[test]
fn the_examples_of_the_readmes_are_documentation_tests() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = fs::read_to_string(package.join("src/lib.rs")).unwrap();
    for name in ["../../README.md", "README.md"] {
        let readme = fs::read_to_string(package.join(name)).unwrap();
        let (_, behind) = readme.split_once("```rust\n").unwrap();
        let (example, rest) = behind.split_once("```\n").unwrap();
        assert!(!rest.contains("```rust"), "{name}: a second example");
        let lines = example.lines().map(|line| format!("/// {line}").trim_end().to_owned() + "\n");
        let test = format!(
            "/// ```no_run\n/// # fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{}/// # Ok(())\n",
            lines.collect::<String>()
        );
        assert!(library.contains(&test), "{name}: src/lib.rs has no test with this example");
    }
}

//! Python's unit tests: a generated suite, run with `unittest`. Without a server: the interpreter itself runs under the
//! filter.
//!
//! The tests do what tests do most: they make temporary directories, write, read and remove files, start the interpreter
//! once, and compare values.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Recipe, Step, number_behind};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "unittest",
    about: "python3 runs a suite of unit tests",
    loads: &[],
    needs: &[Need::new(&["python3"], "python3-minimal")],
    recipe,
};

/// Tests per second of a typical machine, from which the number of tests of a run is derived.
const USUAL_RATE: u32 = 2000;

/// The runner: prints the number of tests, the elapsed time and the CPU time of all processes.
const RUNNER: &str = r#"
import os, subprocess, sys, tempfile, time, unittest

class Suite(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory(dir=os.getcwd())

    def tearDown(self):
        self.place.cleanup()

    def one(self, number):
        path = os.path.join(self.place.name, "file")
        with open(path, "w") as file:
            file.write(str(number) * 100)
        with open(path) as file:
            self.assertEqual(file.read(), str(number) * 100)
        self.assertEqual(os.listdir(self.place.name), ["file"])
        if number % 200 == 0:
            self.assertEqual(subprocess.call([sys.executable, "-S", "-c", "pass"]), 0)

def test(number):
    return lambda self: self.one(number)

for number in range(int(sys.argv[1])):
    setattr(Suite, "test_%d" % number, test(number))

start = time.perf_counter()
suite = unittest.defaultTestLoader.loadTestsFromTestCase(Suite)
result = unittest.TextTestRunner(stream=open(os.devnull, "w")).run(suite)
elapsed = time.perf_counter() - start
if not result.wasSuccessful():
    sys.exit((result.failures + result.errors)[0][1])
print("tests=%d elapsed=%f processor=%f" % (result.testsRun, elapsed, sum(os.times()[:4])))
"#;

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let runner = place.write("suite.py", RUNNER).map_err(|why| WorkloadError::place(&why))?;
    let count = load.count(USUAL_RATE).to_string();
    let client = Step::new(tools.get(0), ["-B"]).and("", &runner).and(&count, "".as_ref());
    Ok(Recipe {
        prepare: Vec::new(),
        server: None,
        fill: Vec::new(),
        client,
        measures: vec!["tests"],
        unit: "tests",
        read: |text, _| read(text),
    })
}

fn read(text: &str) -> Result<Done, String> {
    let count = number_behind(text, "tests=")?;
    let rate = count / number_behind(text, "elapsed=")?;
    Ok(Done { rates: vec![rate], count, processor: Some(number_behind(text, "processor=")?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_over_the_time_that_passed() {
        let done = read("tests=600 elapsed=0.5 processor=0.25\n");
        assert_eq!(done, Ok(Done { rates: vec![1200.0], count: 600.0, processor: Some(0.25) }));
        assert!(read("AssertionError: 1 != 2\n").is_err());
    }
}

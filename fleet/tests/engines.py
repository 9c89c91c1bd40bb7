"""Merges random recordings with the command, DuckDB and Beam, in one piece and in parts, and compares the results.

    python3 engines.py CALLGATE

The results of all engines must be the same recording, byte for byte, after `callgate record merge` wrote each of them, and
`callgate generate` must make the same profile of them as of the single recordings. Runs without an `id` get a digest that
differs between engines; of them, profiles and summaries are compared.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb

import random_recordings

FLEET = pathlib.Path(__file__).resolve().parent.parent
RUNS = 300
CUT_OFF = {"id": "cut-off", "effect": "incomplete", "text": "later entries are missing"}


def command(*arguments, status=0, **options):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, **options)
    if done.returncode != status:
        raise SystemExit(f"{arguments}: status {done.returncode}, expected {status}:\n{done.stderr.decode()[-2000:]}")
    return done


def duck(read, files, steps, output):
    """Runs the files of SQL as a user does."""
    with duckdb.connect() as connection:
        for name, text in [("input", files), ("output", output)]:
            connection.execute(f"SET VARIABLE {name} = {quoted(text)}")
        for step in [f"read-{read}", *steps]:
            connection.execute((FLEET / "duckdb" / f"{step}.sql").read_text())


def quoted(text):
    return "'" + str(text).replace("'", "''") + "'"


def beam(files, output, status=0):
    return command(
        sys.executable, FLEET / "beam" / "merge.py", "--input", files, "--output", output, status=status,
        cwd=FLEET / "beam",
    )


class Fleet:
    """Recordings, and what the command makes of them."""

    def __init__(self, callgate, directory, name, recordings):
        self.callgate, self.directory, self.name = callgate, directory / name, name
        self.directory.mkdir()
        self.lines = [json.dumps(one) for one in recordings]
        self.input = self.write("all.ndjson", self.lines)
        self.merged = self.normalized(self.input, "command.json")
        self.profile = self.generated(self.input)

    def write(self, name, lines):
        path = self.directory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path

    def normalized(self, files, name):
        path = self.directory / name
        command(self.callgate, "record", "merge", files, "-o", path)
        return path

    def generated(self, recording):
        """The profile of a merged recording, and the summary with the estimates."""
        path = self.normalized(recording, "to-generate.json")
        profile = self.directory / "profile.json"
        done = command(
            self.callgate, "generate", path, "--partial", "-o", profile, "--format", "json", "--runtime", "runc"
        )
        return profile.read_bytes(), done.stdout

    def must_be_same(self, engine, path, has_ids=True):
        merged = self.normalized(path, "normalized.json")
        if has_ids and merged.read_bytes() != self.merged.read_bytes():
            raise SystemExit(f"{self.name}: {engine}: the merged recording differs: {merged} {self.merged}")
        if self.generated(path) != self.profile:
            raise SystemExit(f"{self.name}: {engine}: the profile differs")
        print(f"{self.name:<12} {engine:<30} the same")


def compare(callgate, directory):
    source = random.Random(3)
    fleet = Fleet(callgate, directory, "fleet", random_recordings.recordings(1, RUNS))
    output = fleet.directory / "engine.json"

    duck("ndjson", fleet.input, ["merge", "write-json"], output)
    fleet.must_be_same("DuckDB, NDJSON", output)
    duck("ndjson", fleet.input, ["collect", "write-parquet"], fleet.directory / "all.parquet")
    duck("parquet", fleet.directory / "all.parquet", ["merge", "write-json"], output)
    fleet.must_be_same("DuckDB, Parquet", output)
    beam(fleet.input, output)
    fleet.must_be_same("Beam, NDJSON", output)
    beam(fleet.directory / "all.parquet", output)
    fleet.must_be_same("Beam, Parquet", output)

    # In parts of any size and order, each with another engine, and their results with each engine.
    lines = list(fleet.lines)
    source.shuffle(lines)
    cuts = [0, 1, 40, 130, 210, len(lines)]
    parts = [fleet.write(f"{place}.ndjson", lines[a:b]) for place, (a, b) in enumerate(zip(cuts, cuts[1:]))]
    results = fleet.directory / "results"
    results.mkdir()
    for place, part in enumerate(parts):
        if place == 0:
            beam(part, results / "0.json")
        elif place == 1:
            command(callgate, "record", "merge", part, "-o", fleet.directory / "1.json")
            # Beam reads one recording per line.
            text = json.dumps(json.loads((fleet.directory / "1.json").read_text()))
            (results / "1.json").write_text(text + "\n")
        elif place == 2:
            beam(part, results / "2.json")
        else:
            duck("ndjson", part, ["merge", "write-json"], results / f"{place}.json")
    fleet.must_be_same("parts, the command", results)
    duck("ndjson", results / "*.json", ["merge", "write-json"], output)
    fleet.must_be_same("parts, DuckDB, NDJSON", output)
    parquet = fleet.directory / "parquet"
    parquet.mkdir()
    for place, part in enumerate(sorted(results.iterdir())):
        duck("ndjson", part, ["merge", "write-parquet"], parquet / f"{place}.parquet")
    duck("parquet", parquet / "*.parquet", ["merge", "write-json"], output)
    fleet.must_be_same("parts, DuckDB, Parquet", output)
    beam(results / "*.json", output)
    fleet.must_be_same("parts, Beam, NDJSON", output)
    beam(parquet / "*.parquet", output)
    fleet.must_be_same("parts, Beam, Parquet", output)

    # Runs that are given twice, alone and in merged recordings, count once.
    twice = fleet.lines + source.sample(fleet.lines, 60) + (results / "1.json").read_text().splitlines()
    # Unfinished copies do not count, nor do those with lost syscalls, which have as many calls.
    for line in source.sample(fleet.lines, 40):
        copy = json.loads(line)
        if source.random() < 0.5:
            copy["calls"] = copy["calls"][: len(copy["calls"]) // 2]
            copy["runs"][0].setdefault("caveats", []).append(CUT_OFF)
        else:
            copy["runs"][0]["lost"] = copy["runs"][0].get("lost", 0) + 1
        twice.append(json.dumps(copy))
    source.shuffle(twice)
    path = fleet.write("twice.ndjson", twice)
    fleet.must_be_same("twice, the command", path)
    duck("ndjson", path, ["merge", "write-json"], output)
    fleet.must_be_same("twice, DuckDB", output)
    beam(path, output)
    fleet.must_be_same("twice, Beam", output)

    # Without identities; some recordings are equal, and each counts.
    recordings = random_recordings.recordings(2, 60, without_ids=True)
    anonymous = Fleet(callgate, directory, "without ids", recordings + recordings[0:9:3])
    output = anonymous.directory / "engine.json"
    duck("ndjson", anonymous.input, ["merge", "write-json"], output)
    anonymous.must_be_same("DuckDB", output, has_ids=False)
    beam(anonymous.input, output)
    anonymous.must_be_same("Beam", output, has_ids=False)
    refused(fleet)


def refused(fleet):
    """What the command refuses, the engines refuse too, with a message."""
    first, second, third = fleet.lines[:3]
    merged = lambda name, lines: json.loads(fleet.normalized(fleet.write(name, lines), name + ".json").read_text())
    overlap = [json.dumps(merged("12", [first, second])), json.dumps(merged("23", [second, third]))]
    without_number = {"callgate": "recording", "version": 1, "calls": [{"arch": "x86_64", "name": "read", "count": 1}]}
    bad_value = {**without_number, "calls": [{"arch": "x86_64", "nr": 0, "count": 1, "args": [{"values": ["0xzz"]}]}]}
    for what, lines, message, by_command in [
        ("truncated", [first[: len(first) // 2]], None, True),
        ("another version", [first.replace('"version": 1', '"version": 2', 1)], "only version 1", True),
        ("overlapping", overlap, "also has other runs", True),
        ("not a recording", ['{"a": 1}'], "not a recording", True),
        ("bad value", [json.dumps(bad_value)], "0xzz", True),
        ("without numbers", [json.dumps(without_number)], "record merge FILE", False),
    ]:
        path = fleet.write("bad.ndjson", lines)
        output = fleet.directory / "bad.json"
        if by_command:
            command(fleet.callgate, "record", "merge", path, "-o", output, status=2)
        try:
            duck("ndjson", path, ["merge", "write-json"], output)
        except duckdb.Error as error:
            said = str(error)
        else:
            raise SystemExit(f"DuckDB accepts a recording that is {what}")
        by_beam = beam(path, output, status=1).stderr.decode()
        for engine, text in [("DuckDB", said), ("Beam", by_beam)]:
            if message is not None and message not in text:
                raise SystemExit(f"{engine}: {what}: the message is: {text[-1000:]}")
        print(f"{'refused':<12} {what}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        compare(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(scratch))

"""Merges recordings with Apache Beam, as `callgate record merge` does.

    python3 merge.py --input 'recordings/*.ndjson' --output fleet.json
    python3 merge.py --input 'parts/*.parquet' --output fleet.json --runner FlinkRunner …

The input is a stream with one recording per line (NDJSON), or Parquet files that fleet/duckdb/write-parquet.sql wrote. The
output is one recording on one line. Each run counts once: of several recordings of a run, the most complete one. Other
options are those of Beam and its runner.
"""

import argparse
import json
import sys

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

import reduction


class JoinSyscall(beam.CombineFn):
    """Joins partial results of a syscall; Beam combines them near the data before it moves them."""

    def create_accumulator(self):
        return None

    def add_input(self, accumulator, part):
        return part if accumulator is None else reduction.join_syscall(accumulator, part)

    def merge_accumulators(self, accumulators):
        joined = None
        for part in accumulators:
            if part is not None:
                joined = self.add_input(joined, part)
        return joined

    def extract_output(self, accumulator):
        return accumulator


def by_run(recording):
    """The size of a recording under each of its runs with an `id`."""
    for key in sorted({run["id"].lower() for run in recording["runs"] if "id" in run}):
        yield key, reduction.size(recording)


def keep(item):
    """Copies of a recording have the same content; one of them is kept, unless another recording has its runs."""
    _, (copies, wins) = item
    copies, won = list(copies), sum(wins)
    is_identified = any("id" in run for run in copies[0]["runs"])
    # Runs without an `id` have no identity: each copy counts, as for the command.
    kept = copies[:1] if is_identified else copies
    return [one for one in kept if reduction.is_kept(one, won)]


def merge(recordings):
    """The merged recording as a collection of one text."""
    wins = (
        recordings
        | "By run" >> beam.FlatMap(by_run)
        | "Largest" >> beam.CombinePerKey(max)
        | "Won" >> beam.Map(lambda item: (item[1][-1], 1))
    )
    by_content = recordings | "By content" >> beam.Map(lambda recording: (recording["content"], recording))
    kept = (by_content, wins) | "Group" >> beam.CoGroupByKey() | "Keep" >> beam.FlatMap(keep)
    runs = kept | "Runs" >> beam.FlatMap(lambda recording: list(zip(recording["keys"], recording["runs"])))
    syscalls = (
        kept | "Take apart" >> beam.FlatMap(reduction.take_apart) | "Join" >> beam.CombinePerKey(JoinSyscall())
    )
    return (
        recordings.pipeline
        | beam.Create([None])
        | "Put together"
        >> beam.Map(
            lambda _, runs, syscalls: json.dumps(reduction.put_together(runs, syscalls)),
            beam.pvalue.AsList(runs),
            beam.pvalue.AsList(syscalls),
        )
    )


def main(arguments):
    parser = argparse.ArgumentParser(description="Merges recordings of callgate.")
    parser.add_argument("--input", required=True, help="files with one recording per line, or *.parquet")
    parser.add_argument("--output", required=True, help="the merged recording")
    own, others = parser.parse_known_args(arguments)
    with beam.Pipeline(options=PipelineOptions(others, save_main_session=True)) as pipeline:
        if own.input.endswith(".parquet"):
            rows = pipeline | beam.io.ReadFromParquet(own.input)
            recordings = rows | beam.Map(reduction.from_row)
        else:
            lines = pipeline | beam.io.ReadFromText(own.input)
            recordings = lines | beam.Filter(lambda line: line.strip()) | beam.Map(reduction.parse)
        merge(recordings) | beam.io.WriteToText(own.output, shard_name_template="")


if __name__ == "__main__":
    main(sys.argv[1:])

"""The reduction of recordings as functions on JSON values, for any engine that runs Python.

A recording is taken apart into its runs and its syscalls (`take_apart`). Partial results of a syscall are joined in any
order and grouping (`join_syscall`), and at the end everything is put together (`put_together`). It is the reduction of
`callgate record merge`; fleet/duckdb/merge.sql is the same in SQL.

A partial result of a syscall is a dictionary:

- `count`, `name`, `common`: the sum of counts, the name, and the labels that all runs have in common that made it
- `runs`, `keys`: in how many runs it was made, and which ones if these are one or two, otherwise None
- `args`: for each argument None, or `observed`, `values` (value -> runs, keys) and `bounds` (min, max, ever, always);
  more than 32 values become bounds
"""

import hashlib
import json
import re

MAX_COUNT = 2**63 - 1
MAX_VALUES = 32
MAX_RUNS = 10_000

RUN_KEYS = [
    "how", "command", "from", "processes", "threads", "lost", "status", "kernel", "recorder", "id", "digest", "labels",
    "caveats",
]
ARCHES = frozenset(
    "x86_64 x86 x32 aarch64 arm riscv64 s390x s390 ppc64le ppc64 ppc loongarch64 mips mipsel mips64 mipsel64 mips64n32 "
    "mipsel64n32 m68k parisc parisc64 sh sheb".split()
)


class BadRecording(ValueError):
    """The text is not a recording, or recordings cannot be merged."""


def parse(text):
    """The recording in a text; see `check`."""
    try:
        return check(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise BadRecording(f"{error}: {text[:60]!r}") from error


def from_row(row):
    """The recording in a row of a Parquet file that fleet/duckdb/write-parquet.sql wrote; see `check`."""
    maps = lambda item, key: {**item, key: dict(item[key])} if item.get(key) is not None else item
    runs = [maps(run, "labels") for run in row["runs"] or []]
    calls = None if row["calls"] is None else [maps(call, "common") for call in row["calls"]]
    return check({**row, "runs": runs, "calls": calls})


def check(recording):
    """A recording with `keys`, one per run, which tell runs apart, and `content`, a digest of all."""
    if not isinstance(recording, dict) or recording.get("callgate") != "recording":
        raise BadRecording('this is not a recording: missing "callgate": "recording"')
    if recording.get("version") != 1:
        version = recording.get("version", "missing")
        raise BadRecording(f"the version of a recording is {version}, but only version 1 is supported")
    calls, runs = recording.get("calls"), recording.get("runs") or [{"how": "unknown"}]
    if not isinstance(calls, list) or not isinstance(runs, list):
        raise BadRecording("missing `calls` in a recording: it is truncated, or not a recording")
    if not all(isinstance(item, dict) for item in runs + calls):
        raise BadRecording("each item of `runs` and `calls` must be an object")
    runs = [{key: run[key] for key in RUN_KEYS if run.get(key) is not None} for run in runs]
    for run in runs:
        caveats = run.get("caveats", [])
        run["caveats"] = [{key: value for key, value in one.items() if value is not None} for one in caveats]
    content = hashlib.sha256(json.dumps([runs, calls], sort_keys=True).encode()).hexdigest()
    keys = [run.get("id", run.get("digest", content[:16] if len(runs) == 1 else None)) for run in runs]
    for key in keys:
        if key is not None and not re.fullmatch("[0-9a-fA-F]{16}", key):
            raise BadRecording(f"`id` and `digest` of a run must have 16 hexadecimal digits, but one is {key!r}")
    for run, key in zip(runs, keys):
        if key is not None and "id" not in run:
            run["digest"] = key
    return {"runs": runs, "calls": calls, "keys": keys, "content": content}


def size(recording):
    """Of several recordings of a run, the one with the largest size counts: the most complete one."""
    runs = recording["runs"]
    is_complete = not any(one.get("id") == "cut-off" for run in runs for one in run["caveats"])
    lost = sum(run.get("lost", 0) for run in runs)
    total = sum(call.get("count", 0) for call in recording["calls"])
    labels = sum(len(run.get("labels", {})) for run in runs)
    return (len(runs), is_complete, -lost, total, labels, recording["content"])


def is_kept(recording, won):
    """Whether a recording is kept that is the largest one of `won` of its runs with an `id`."""
    assigned = {run["id"].lower() for run in recording["runs"] if "id" in run}
    if won == len(assigned):
        return True
    if won == 0 and len(assigned) == len(recording["runs"]):
        return False
    raise BadRecording("a recording shares some of its runs with others, and also has other runs: give each run once")


def take_apart(recording):
    """The syscalls of a recording: pairs of (arch, nr) and a partial result."""
    runs, keys = recording["runs"], recording["keys"]
    own = dict(runs[0].get("labels", {}))
    for run in runs[1:]:
        own = _in_both(own, run.get("labels", {}))
    syscalls = {}
    for call in recording["calls"]:
        if call.get("nr") is None or call.get("count") is None:
            raise BadRecording(
                "an item of `calls` has no `nr` or no `count`: `callgate record merge FILE` writes the numbers"
            )
        if call.get("arch") not in ARCHES:
            raise BadRecording(
                f"unknown `arch` {call.get('arch')!r}: `callgate record merge FILE` writes the usual names"
            )
        if call["count"] == 0:
            continue
        place = (call["arch"], call["nr"])
        common = own if len(runs) == 1 or call.get("common") is None else call["common"]
        part = _syscall(call, keys, common)
        if place not in syscalls:
            syscalls[place] = part
        elif len(runs) == 1:
            syscalls[place] = _join(syscalls[place], part, same_run=True)
        else:
            raise BadRecording("a merged recording has two entries of a syscall: merge the single recordings again")
    return syscalls.items()


def join_syscall(one, other):
    """Joins partial results of a syscall that are from different runs. The order and the grouping do not matter."""
    return _join(one, other, same_run=False)


def put_together(runs, syscalls):
    """The recording of all runs, pairs of a key and a run, and of the results of all syscalls, ((arch, nr), result)."""
    if not runs:
        raise BadRecording("no recordings")
    if len(runs) > MAX_RUNS:
        raise BadRecording(f"{len(runs)} runs are more than {MAX_RUNS}, the limit of a recording: merge fewer recordings")
    runs = sorted(runs, key=lambda pair: (pair[0] or "", json.dumps(pair[1], sort_keys=True)))
    place_of = {}
    for place, (key, _) in enumerate(runs):
        if key is not None:
            place_of.setdefault(key, place)
    calls = [_call(*syscall, place_of) for syscall in sorted(syscalls, key=lambda syscall: syscall[0])]
    return {"callgate": "recording", "version": 1, "runs": [run for _, run in runs], "calls": calls}


def _syscall(call, keys, common):
    """The partial result of an item of `calls`."""
    is_one = len(keys) == 1
    runs = max(call.get("runs") or 1, 1)
    known = keys if is_one else _keys(call.get("only_in"), keys)
    seen = _seen(runs, known)

    def seen_by(arg, index):
        runs = max((arg.get("seen_in") or [seen[0]] * len(arg["values"]))[index], 1)
        if is_one:
            return _seen(runs, keys)
        if arg.get("only_in") is not None:
            return _seen(runs, _keys(arg["only_in"][index], keys))
        return seen if runs == seen[0] else _seen(runs, None)

    args = []
    for arg in call.get("args") or []:
        if arg is None:
            args.append(None)
            continue
        observed = arg.get("observed")
        part = {"observed": call["count"] if observed is None else observed, "values": {}, "bounds": None}
        if arg.get("values") is not None:
            for index, text in enumerate(arg["values"]):
                part["values"][_number(text)] = seen_by(arg, index)
        elif any(arg.get(key) is None for key in ("min", "max", "ever", "always")):
            raise BadRecording("an argument has neither `values` nor `min`, `max`, `ever` and `always`")
        else:
            part["bounds"] = tuple(_number(arg[key]) for key in ("min", "max", "ever", "always"))
        args.append(part)
    return {
        "count": call["count"], "name": call.get("name"), "common": dict(common), "runs": seen[0], "keys": seen[1],
        "args": args,
    }


def _join(one, other, same_run):
    seen = _join_seen((one["runs"], one["keys"]), (other["runs"], other["keys"]), same_run)
    longest = max(len(one["args"]), len(other["args"]))
    args = [part["args"] + [None] * (longest - len(part["args"])) for part in (one, other)]
    return {
        "count": min(one["count"] + other["count"], MAX_COUNT),
        "name": max(one["name"] or "", other["name"] or "") or None,
        "common": _in_both(one["common"], other["common"]),
        "runs": seen[0],
        "keys": seen[1],
        "args": [_join_args(*pair, same_run) for pair in zip(*args)],
    }


def _join_args(one, other, same_run):
    if one is None or other is None:
        return one or other
    values = dict(one["values"])
    for value, seen in other["values"].items():
        values[value] = _join_seen(values[value], seen, same_run) if value in values else seen
    bounds = _unite(one["bounds"], other["bounds"])
    if bounds is not None or len(values) > MAX_VALUES:
        for value in values:
            bounds = _unite(bounds, (value, value, value, value))
        values = {}
    observed = min(one["observed"] + other["observed"], MAX_COUNT)
    return {"observed": observed, "values": values, "bounds": bounds}


def _unite(one, other):
    if one is None or other is None:
        return one or other
    return (min(one[0], other[0]), max(one[1], other[1]), one[2] | other[2], one[3] & other[3])


def _join_seen(one, other, same_run):
    """In how many runs something was seen, and in which ones if these are one or two."""
    if same_run:
        return max(one, other, key=lambda seen: seen[0])
    runs = min(one[0] + other[0], MAX_COUNT)
    known = one[1] is not None and other[1] is not None
    return _seen(runs, sorted(one[1] + other[1]) if known else None)


def _seen(runs, keys):
    is_known = keys is not None and runs <= 2 and len(keys) == runs and None not in keys
    return (runs, sorted(keys) if is_known else None)


def _keys(places, keys):
    """The keys of runs by their places; None if these are not known."""
    if places is None:
        return None
    if any(not 0 <= place < len(keys) for place in places):
        raise BadRecording(f"each item of `only_in` must be at most {len(keys) - 1}, but one of {places} is not")
    return [keys[place] for place in places]


def _number(value):
    """A 64-bit value: an integer, or a string with a hexadecimal number; Parquet has integers as texts, too."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,20}", value):
        value = int(value)
    if isinstance(value, str) and re.fullmatch("0x[0-9a-fA-F]{1,16}", value):
        return int(value, 16)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64:
        return value
    raise BadRecording(f'each value must be a 64-bit value such as "0x1f", but one is {value!r}')


def _in_both(one, other):
    return {key: value for key, value in one.items() if other.get(key) == value}


def _call(place, part, place_of):
    arch, nr = place
    call = {"arch": arch, "name": part["name"], "nr": nr, "count": part["count"], "runs": part["runs"]}
    call["only_in"] = _places(part["keys"], place_of)
    call = {key: value for key, value in call.items() if value is not None}
    call["common"] = part["common"]
    args = [_arg(arg, place_of) for arg in part["args"]]
    observed = [index for index, arg in enumerate(part["args"]) if arg is not None and arg["observed"] > 0]
    if observed:
        call["args"] = args[: observed[-1] + 1]
    return call


def _arg(arg, place_of):
    if arg is None or (arg["bounds"] is None and not arg["values"]):
        return None
    if arg["bounds"] is not None:
        item = dict(zip(("min", "max", "ever", "always"), map(hex, arg["bounds"])))
    else:
        values = sorted(arg["values"].items())
        item = {
            "values": [hex(value) for value, _ in values],
            "seen_in": [runs for _, (runs, _) in values],
            "only_in": [_places(keys, place_of) for _, (_, keys) in values],
        }
    item["observed"] = arg["observed"]
    return item


def _places(keys, place_of):
    return None if keys is None else [place_of[key] for key in keys]

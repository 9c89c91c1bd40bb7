-- Merges the recordings of the view `recordings` into one, the table `merged`, as `callgate record merge` does.
--
-- The result is a recording again, so parts can be merged on many machines, and their results merged in the same way. All
-- copies of a run must be in the same part, or the parts must not overlap: a merged recording that shares only some of its
-- runs with others is an error. docs/how-to/merge-recordings.md explains how to use it.

-- Recordings of an old or a new format, or none.
CREATE OR REPLACE TEMP TABLE given AS
SELECT
    row_number() OVER () AS recording,
    CASE
        WHEN len(runs) > 0 THEN runs
        ELSE [{
            how: 'unknown', command: NULL, "from": NULL, processes: NULL, threads: NULL, lost: NULL, status: NULL,
            kernel: NULL, recorder: NULL, id: NULL, digest: NULL, labels: NULL, caveats: NULL
        }]
    END AS runs,
    calls,
    md5(to_json(runs)::VARCHAR || to_json(calls)::VARCHAR) AS content
FROM recordings
WHERE CASE
    WHEN callgate IS DISTINCT FROM 'recording' THEN
        error('this is not a recording: missing "callgate": "recording"')
    WHEN version IS DISTINCT FROM 1 THEN
        error('the version of a recording is ' || coalesce(version::VARCHAR, 'missing')
            || ', but only version 1 is supported')
    WHEN calls IS NULL THEN error('missing `calls` in a recording: it is truncated, or not a recording')
    ELSE true
END;

-- The runs. A run without `id` and without `digest` gets a digest of its recording; `key` tells runs apart.
CREATE OR REPLACE TEMP TABLE all_runs AS
SELECT recording, place, runs, run, coalesce(run.id, run.digest, if(runs = 1, content[:16], NULL)) AS key
FROM (
    SELECT recording, content, len(runs) AS runs, unnest(range(len(runs))) AS place, unnest(runs) AS run
    FROM given
)
WHERE CASE
    WHEN NOT regexp_full_match(coalesce(run.id, run.digest, '0123456789abcdef'), '[0-9a-fA-F]{16}') THEN
        error('`id` and `digest` of a run must have 16 hexadecimal digits')
    ELSE true
END;

-- Of several recordings of a run, the one with most runs counts, then the most complete one: not cut off, with the fewest
-- lost syscalls, the most calls and the most labels.
CREATE OR REPLACE TEMP TABLE kept AS
WITH
sizes AS (
    SELECT
        recording, content,
        len(list_filter(runs, lambda run: list_contains(list_transform(run.caveats, lambda one: one.id), 'cut-off')))
            AS cut,
        list_sum(list_transform(runs, lambda run: coalesce(run.lost, 0)::HUGEINT)) AS lost,
        list_sum(list_transform(calls, lambda call: call.count::HUGEINT)) AS total,
        list_sum(list_transform(runs, lambda run: coalesce(cardinality(run.labels), 0))) AS labels
    FROM given
),
chosen AS (
    SELECT
        recording,
        row_number() OVER (
            PARTITION BY lower(run.id)
            ORDER BY runs DESC, cut > 0, lost, total DESC, sizes.labels DESC, content DESC, recording
        ) AS rank
    FROM all_runs JOIN sizes USING (recording)
    WHERE run.id IS NOT NULL
    -- A recording may not list a run twice, but a damaged one could.
    QUALIFY row_number() OVER (PARTITION BY recording, lower(run.id) ORDER BY place) = 1
),
counted AS (
    SELECT recording, count(*) AS assigned, count_if(rank = 1) AS won FROM chosen GROUP BY recording
)
SELECT given.recording, runs, calls
FROM given LEFT JOIN counted USING (recording)
WHERE CASE
    WHEN assigned IS NULL OR won = assigned THEN true
    WHEN won = 0 AND assigned = len(runs) THEN false
    ELSE error('a recording shares some of its runs with others, and also has other runs: give each run once')
END;

-- The runs of the result, in an order that does not depend on that of the recordings.
CREATE OR REPLACE TEMP TABLE kept_runs AS
SELECT
    recording, all_runs.place, all_runs.runs, key, run.labels AS labels,
    row_number() OVER (ORDER BY lower(key), to_json(run)::VARCHAR, recording, all_runs.place) - 1 AS new_place,
    {
        how: run.how, command: run.command, "from": run."from", processes: run.processes, threads: run.threads,
        lost: run.lost, status: run.status, kernel: run.kernel, recorder: run.recorder, id: run.id,
        digest: if(run.id IS NULL, key, NULL), labels: run.labels, caveats: run.caveats
    } AS run
FROM all_runs SEMI JOIN kept USING (recording);

-- What is common to the runs of each recording: their keys by place, and the labels that all of them have.
CREATE OR REPLACE TEMP TABLE of_recording AS
WITH
labels AS (
    SELECT recording, runs, label
    FROM (SELECT recording, runs, unnest(map_entries(labels)) AS label FROM kept_runs)
    GROUP BY ALL HAVING count(*) = runs
),
common AS (SELECT recording, list(label ORDER BY label) AS common FROM labels GROUP BY recording)
SELECT recording, len(keys) AS runs, keys, coalesce(common, []) AS common
FROM (SELECT recording, list(key ORDER BY place) AS keys FROM kept_runs GROUP BY recording)
LEFT JOIN common USING (recording);

-- The syscalls of each recording: in how many runs they were made, and in which ones if these are one or two.
CREATE OR REPLACE TEMP TABLE made AS
WITH
items AS (SELECT recording, unnest(calls) AS call FROM kept),
known AS (
    SELECT
        recording, call, of_recording.runs AS of_runs, keys, greatest(coalesce(call.runs, 1), 1) AS seen_in,
        if(
            of_recording.runs = 1, if(seen_in = 1, keys, NULL),
            list_transform(call.only_in, lambda place: keys[place + 1])
        ) AS seen_by,
        if(of_recording.runs = 1 OR call.common IS NULL, of_recording.common, list_sort(map_entries(call.common)))
            AS common
    FROM items JOIN of_recording USING (recording)
    WHERE CASE
        WHEN call.nr IS NULL OR call.count IS NULL THEN
            error('an item of `calls` has no `nr` or no `count`: `callgate record merge FILE` writes the numbers')
        WHEN call.count > 9223372036854775807 THEN error('`count` is more than 9223372036854775807')
        WHEN call.arch IS NULL OR call.arch NOT IN (
            'x86_64', 'x86', 'x32', 'aarch64', 'arm', 'riscv64', 's390x', 's390', 'ppc64le', 'ppc64', 'ppc',
            'loongarch64', 'mips', 'mipsel', 'mips64', 'mipsel64', 'mips64n32', 'mipsel64n32', 'm68k', 'parisc',
            'parisc64', 'sh', 'sheb'
        ) THEN error('unknown `arch`: `callgate record merge FILE` writes the usual names')
        ELSE call.count > 0
    END
)
SELECT
    * REPLACE (
        if(seen_in <= 2 AND len(seen_by) = seen_in AND len(list_filter(seen_by, lambda key: key IS NULL)) = 0,
            list_sort(seen_by), NULL) AS seen_by
    ),
    CASE
        WHEN of_runs > 1 AND count(*) OVER (PARTITION BY recording, call.arch, call.nr) > 1 THEN
            error('a merged recording has two entries of a syscall: merge the single recordings again')
        ELSE true
    END AS is_valid
FROM known;

-- Each syscall of the result. In a recording of one run, entries of the same syscall add up.
CREATE OR REPLACE TEMP TABLE syscalls AS
WITH once AS (
    SELECT
        recording, call.arch AS arch, call.nr AS nr, max(call.name) AS name, sum(call.count) AS count,
        max(seen_in) AS seen_in, any_value(seen_by) AS seen_by
    FROM made WHERE is_valid GROUP BY ALL
)
SELECT
    arch, nr, max(name) AS name,
    least(sum(count), 9223372036854775807)::UBIGINT AS count,
    least(sum(seen_in), 9223372036854775807)::UBIGINT AS seen_in,
    -- Two recordings of one run each, or one of two runs: no list of all keys is made.
    CASE
        WHEN bool_or(seen_by IS NULL) OR sum(seen_in) > 2 THEN NULL
        WHEN count(*) = 2 THEN [min(seen_by[1]), max(seen_by[1])]
        ELSE any_value(seen_by)
    END AS seen_by
FROM once GROUP BY arch, nr;

-- The labels that all runs have in common that made a syscall: those that are in each different set of labels.
CREATE OR REPLACE TEMP TABLE common_labels AS
WITH
sets AS (SELECT DISTINCT call.arch AS arch, call.nr AS nr, common FROM made),
numbers AS (SELECT arch, nr, count(*) AS sets FROM sets GROUP BY ALL),
labels AS (SELECT arch, nr, unnest(common) AS label FROM sets),
in_all AS (SELECT arch, nr, label, count(*) AS sets FROM labels GROUP BY ALL)
SELECT arch, nr, map_from_entries(list(label ORDER BY label)) AS common
FROM in_all JOIN numbers USING (arch, nr, sets)
GROUP BY arch, nr;

-- The arguments of each syscall in each recording.
CREATE OR REPLACE TEMP TABLE arguments AS
SELECT * REPLACE (coalesce(arg.observed, call.count) AS observed)
FROM (
    SELECT
        recording, call, of_runs, keys, seen_in, seen_by, NULL::UBIGINT AS observed,
        unnest(range(len(call.args))) AS place, unnest(call.args) AS arg
    FROM made
)
WHERE arg IS NOT NULL;

-- Each value: in how many runs it was seen, and in which ones if these are one or two.
CREATE OR REPLACE TEMP TABLE listed AS
WITH
items AS (
    SELECT
        recording, call.arch AS arch, call.nr AS nr, place, of_runs, keys, seen_in AS in_calls, seen_by AS by_calls,
        arg.only_in IS NOT NULL AS has_only_in,
        unnest(arg."values")::UBIGINT AS value,
        unnest(coalesce(arg.seen_in, list_transform(arg."values", lambda value: seen_in))) AS seen_in,
        unnest(coalesce(arg.only_in, list_transform(arg."values", lambda value: NULL::UINTEGER[]))) AS only_in
    FROM arguments WHERE arg."values" IS NOT NULL
),
known AS (
    SELECT
        recording, arch, nr, place, value, greatest(seen_in, 1) AS seen_in,
        CASE
            WHEN of_runs = 1 THEN if(seen_in = 1, keys, NULL)
            WHEN has_only_in THEN list_transform(only_in, lambda place: keys[place + 1])
            WHEN seen_in = in_calls THEN by_calls
        END AS seen_by
    FROM items
),
once AS (
    SELECT
        recording, arch, nr, place, value, max(seen_in) AS seen_in,
        any_value(if(
            seen_in <= 2 AND len(seen_by) = seen_in AND len(list_filter(seen_by, lambda key: key IS NULL)) = 0,
            list_sort(seen_by), NULL)) AS seen_by
    FROM known GROUP BY ALL
)
SELECT
    arch, nr, place, value,
    least(sum(seen_in), 9223372036854775807)::UBIGINT AS seen_in,
    CASE
        WHEN bool_or(seen_by IS NULL) OR sum(seen_in) > 2 THEN NULL
        WHEN count(*) = 2 THEN [min(seen_by[1]), max(seen_by[1])]
        ELSE any_value(seen_by)
    END AS seen_by
FROM once GROUP BY arch, nr, place, value;

-- Each argument: up to 32 values, or bounds.
CREATE OR REPLACE TEMP TABLE merged_arguments AS
WITH
places AS (
    SELECT key, min(new_place)::UINTEGER AS new_place FROM kept_runs WHERE key IS NOT NULL GROUP BY key
),
by_place AS (SELECT map_from_entries(list((key, new_place))) AS place_of FROM places),
observed AS (
    SELECT
        call.arch AS arch, call.nr AS nr, place,
        least(sum(observed), 9223372036854775807)::UBIGINT AS observed
    FROM arguments GROUP BY ALL
),
bounds AS (
    SELECT
        call.arch AS arch, call.nr AS nr, place, arg.min::UBIGINT AS min, arg.max::UBIGINT AS max,
        arg.ever::UBIGINT AS ever, arg.always::UBIGINT AS always, 1 AS bounded
    FROM arguments
    WHERE arg."values" IS NULL AND CASE
        WHEN arg.min IS NULL OR arg.max IS NULL OR arg.ever IS NULL OR arg.always IS NULL THEN
            error('an argument has neither `values` nor `min`, `max`, `ever` and `always`')
        ELSE true
    END
    UNION ALL
    SELECT arch, nr, place, value, value, value, value, 0 FROM listed
),
united AS (
    SELECT
        arch, nr, place, min(min) AS min, max(max) AS max, bit_or(ever) AS ever, bit_and(always) AS always,
        sum(bounded) > 0 OR count(*) > 32 AS is_bounded
    FROM bounds GROUP BY ALL
),
lists AS (
    SELECT
        arch, nr, place, list('0x' || lower(to_hex(value)) ORDER BY value) AS "values",
        list(listed.seen_in ORDER BY value) AS seen_in,
        list(list_transform(seen_by, lambda key: place_of[key]) ORDER BY value) AS only_in
    FROM listed CROSS JOIN by_place
    SEMI JOIN (SELECT arch, nr, place FROM united WHERE NOT is_bounded) USING (arch, nr, place)
    GROUP BY ALL
)
SELECT
    arch, nr, place, observed,
    CASE
        WHEN is_bounded IS NULL THEN NULL
        WHEN is_bounded THEN {
            "values": NULL, seen_in: NULL, only_in: NULL, min: '0x' || lower(to_hex(min)),
            max: '0x' || lower(to_hex(max)), ever: '0x' || lower(to_hex(ever)),
            always: '0x' || lower(to_hex(always)), observed: observed
        }
        ELSE {
            "values": "values", seen_in: seen_in, only_in: only_in, min: NULL, max: NULL, ever: NULL,
            always: NULL, observed: observed
        }
    END AS arg
FROM observed
LEFT JOIN united USING (arch, nr, place)
LEFT JOIN lists USING (arch, nr, place);

CREATE OR REPLACE TEMP TABLE merged AS
WITH
places AS (
    SELECT key, min(new_place)::UINTEGER AS new_place FROM kept_runs WHERE key IS NOT NULL GROUP BY key
),
by_place AS (SELECT map_from_entries(list((key, new_place))) AS place_of FROM places),
last AS (
    SELECT arch, nr, max(place) AS last FROM merged_arguments WHERE observed > 0 GROUP BY ALL
),
places_of_args AS (SELECT arch, nr, unnest(range(last + 1)) AS place FROM last),
args AS (
    SELECT arch, nr, list(arg ORDER BY place) AS args
    FROM places_of_args LEFT JOIN merged_arguments USING (arch, nr, place)
    GROUP BY arch, nr
),
merged_calls AS (
    SELECT {
        arch: arch, name: name, nr: nr, count: count, runs: seen_in,
        only_in: list_transform(seen_by, lambda key: place_of[key]),
        common: coalesce(common, MAP {}), args: args
    } AS call
    FROM syscalls CROSS JOIN by_place
    LEFT JOIN common_labels USING (arch, nr)
    LEFT JOIN args USING (arch, nr)
)
SELECT
    'recording' AS callgate,
    1::UBIGINT AS version,
    (SELECT list(run ORDER BY new_place) FROM kept_runs) AS runs,
    (SELECT coalesce(list(call ORDER BY call.arch, call.nr), []) FROM merged_calls) AS calls
WHERE CASE
    WHEN (SELECT count(*) FROM kept_runs) = 0 THEN error('no recordings')
    WHEN (SELECT count(*) FROM kept_runs) > 10000 THEN
        error('more than 10000 runs, the limit of a recording: merge fewer recordings')
    ELSE true
END;

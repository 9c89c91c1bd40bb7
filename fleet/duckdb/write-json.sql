-- Writes the table `merged` in JSON, one recording per line, for `callgate generate` and `callgate record merge`.
--
--     SET VARIABLE output = 'fleet.json';

-- An object without its null members: in a recording, a key without a value is absent.
CREATE OR REPLACE TEMP MACRO without_nulls(object) AS json_merge_patch('{}'::JSON, to_json(object));

COPY (
    SELECT
        callgate,
        version,
        list_transform(runs, lambda run: without_nulls({
            how: run.how, command: run.command, "from": run."from", processes: run.processes,
            threads: run.threads, lost: run.lost, status: run.status, kernel: run.kernel,
            recorder: run.recorder, id: run.id, digest: run.digest, labels: run.labels,
            caveats: list_transform(run.caveats, lambda caveat: without_nulls(caveat))
        })) AS runs,
        list_transform(calls, lambda call: without_nulls({
            arch: call.arch, name: call.name, nr: call.nr, count: call.count, runs: call.runs,
            only_in: call.only_in, common: call.common,
            args: list_transform(call.args, lambda arg:
                CASE WHEN arg IS NULL THEN 'null'::JSON ELSE without_nulls(arg) END)
        })) AS calls
    FROM merged
) TO (getvariable('output')) (FORMAT json);

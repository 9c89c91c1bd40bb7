-- The recordings in JSON: files with one recording each, or streams with one per line (NDJSON).
--
--     SET VARIABLE input = 'recordings/*.json';
--
-- Keys that are not listed here are ignored, as the command does.
CREATE OR REPLACE VIEW recordings AS
SELECT callgate, version, runs, calls
FROM read_json(
    getvariable('input'),
    format = 'unstructured',
    maximum_object_size = 67108864,
    columns = {
        callgate: 'VARCHAR',
        version: 'UBIGINT',
        runs: 'STRUCT(
            how VARCHAR, command VARCHAR[], "from" VARCHAR, processes UBIGINT, threads UBIGINT, lost UBIGINT,
            status UTINYINT, kernel VARCHAR, recorder VARCHAR, id VARCHAR, digest VARCHAR,
            labels MAP(VARCHAR, VARCHAR),
            caveats STRUCT(id VARCHAR, effect VARCHAR, count UBIGINT, text VARCHAR)[])[]',
        calls: 'STRUCT(
            arch VARCHAR, name VARCHAR, nr UINTEGER, count UBIGINT, runs UBIGINT, only_in UINTEGER[],
            common MAP(VARCHAR, VARCHAR),
            args STRUCT(
                "values" VARCHAR[], seen_in UBIGINT[], only_in UINTEGER[][],
                min VARCHAR, max VARCHAR, ever VARCHAR, always VARCHAR, observed UBIGINT)[])[]'
    }
);

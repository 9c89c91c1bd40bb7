-- The recordings in Parquet, as write-parquet.sql writes them: one row per recording.
--
--     SET VARIABLE input = 'parts/*.parquet';
CREATE OR REPLACE VIEW recordings AS
SELECT callgate, version, runs, calls
FROM read_parquet(getvariable('input'), union_by_name = true);

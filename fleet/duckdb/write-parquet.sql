-- Writes the table `merged` as Parquet, one row per recording.
--
--     SET VARIABLE output = 'part.parquet';
COPY (SELECT callgate, version, runs, calls FROM merged) TO (getvariable('output')) (FORMAT parquet);

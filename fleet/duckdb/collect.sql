-- All recordings as they are, to convert them to Parquet without merging them.
CREATE OR REPLACE TEMP TABLE merged AS
SELECT callgate, version, runs, calls FROM recordings;

-- One migration at a time. COMMENT locks the schema until the end of the transaction, and only the owner of the
-- schema may do that. Every role may take an advisory lock, and so could keep migrations away. A comment that is there
-- stays.
DO $gate$
BEGIN
  EXECUTE format('COMMENT ON SCHEMA @schema@ IS %L',
                 coalesce(obj_description('@schema@'::regnamespace, 'pg_namespace'), 'Locks of Mortise'));
END
$gate$;

DO $steps$
DECLARE
  place constant oid := '@schema@'::regnamespace;
  installed bigint;
BEGIN
  IF to_regprocedure('@schema@.schema_version()') IS NOT NULL THEN
    EXECUTE 'SELECT @schema@.schema_version()' INTO installed;
  END IF;
  IF installed > 1 THEN
    RAISE EXCEPTION 'schema @schema@ is of version %, which is newer than this 1: it stays as it is', installed
      USING ERRCODE = '55000';
  END IF;
  -- What is there already: see rights.sql.
  PERFORM set_config('@schema@.there', coalesce(string_agg(all_of_them.oid::text, ' '), ''), true)
    FROM (SELECT oid FROM pg_class WHERE relnamespace = place
          UNION ALL SELECT oid FROM pg_proc WHERE pronamespace = place) AS all_of_them;
END
$steps$;


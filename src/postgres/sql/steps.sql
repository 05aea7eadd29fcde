-- One migration at a time. COMMENT locks the schema until the end of the transaction, and only the owner of the
-- schema may do that. Every role may take an advisory lock, and so could keep migrations away. A comment that is there
-- stays.
DO $gate$
BEGIN
  EXECUTE format('COMMENT ON SCHEMA @schema@ IS %L',
                 coalesce(obj_description('@schema@'::regnamespace, 'pg_namespace'), 'Locks of Mortise'));
END
$gate$;

-- From each older version to this one. Version 4 and what came after it are told by schema_versions(); older
-- ones by schema_version() alone.
DO $steps$
DECLARE
  place constant oid := '@schema@'::regnamespace;
  installed integer;
  each oid;
BEGIN
  IF to_regprocedure('@schema@.schema_versions()') IS NOT NULL THEN
    EXECUTE 'SELECT split_part(@schema@.schema_versions(), '' '', 2)' INTO installed;
  ELSIF to_regprocedure('@schema@.schema_version()') IS NOT NULL THEN
    EXECUTE 'SELECT @schema@.schema_version()' INTO installed;
  END IF;
  IF installed > 6 THEN
    RAISE EXCEPTION 'schema @schema@ is of version %, which is newer than this 6: it stays as it is', installed
      USING ERRCODE = '55000';
  END IF;
  -- Whoever could take a lock before can do so afterwards: see the end.
  PERFORM set_config('@schema@.applications', coalesce(string_agg(DISTINCT grantee::text, ' '), ''), true)
    FROM pg_proc, aclexplode(proacl)
   WHERE pronamespace = place AND proname = 'take' AND privilege_type = 'EXECUTE'
     AND grantee NOT IN (0, proowner);
  -- And whoever could release by force. It was of any hold, without a number, then of locks alone, then of no keys; its
  -- name must stay one function's.
  PERFORM set_config('@schema@.administrators', coalesce(string_agg(DISTINCT grantee::text, ' '), ''), true)
    FROM pg_proc, aclexplode(proacl)
   WHERE pronamespace = place AND proname = 'force_release' AND privilege_type = 'EXECUTE'
     AND grantee NOT IN (0, proowner);
  DROP FUNCTION IF EXISTS @schema@.force_release(bytea), @schema@.force_release(bytea, bigint),
                          @schema@.force_release(bytea, bigint, bigint);
  -- What is there already: see the end.
  PERFORM set_config('@schema@.there', coalesce(string_agg(all_of_them.oid::text, ' '), ''), true)
    FROM (SELECT oid FROM pg_class WHERE relnamespace = place
          UNION ALL SELECT oid FROM pg_proc WHERE pronamespace = place) AS all_of_them;
  -- 1 and 2: other arguments, other results.
  IF installed < 3 THEN
    FOR each IN SELECT oid FROM pg_proc WHERE pronamespace = place AND proname IN (@functions@) LOOP
      EXECUTE 'DROP FUNCTION ' || each::regprocedure;
    END LOOP;
  END IF;
  -- 3: what its migrate() makes of the functions must not come back, and fails at this one's result.
  IF installed = 3 THEN DROP FUNCTION @schema@.schema_version(); END IF;
  -- 1: conditions that were looked at by each statement that writes.
  IF installed = 1 THEN
    ALTER TABLE @schema@.lock DROP CONSTRAINT IF EXISTS lock_name_check,
                              DROP CONSTRAINT IF EXISTS lock_number_check;
  END IF;
  -- 1 and 2: the name came first in this index: see the table.
  IF EXISTS (SELECT FROM pg_constraint WHERE connamespace = place AND conrelid = to_regclass('@schema@.lock')
                AND conname = 'lock_name_number_key') THEN
    ALTER TABLE @schema@.lock ADD CONSTRAINT lock_number_name_key UNIQUE (number, name);
    ALTER TABLE @schema@.lock DROP CONSTRAINT lock_name_number_key;
  END IF;
END
$steps$;


-- SPDX-License-Identifier: MIT
-- The schema of Mortise's locks. Run it by psql or by mortise::postgres::migrate(), as a role that may make
-- schemas in the database, and always as the same one. It may be run again, and brings every older version
-- to this one; a newer one it leaves alone.
--
-- Invariants. A row is a name that was ever locked; it stays, because `number`, the grant number, must
-- outlive every hold. Held means: `expires_at` lies ahead of the server's clock; `attempt` is the owner
-- then, and the last one otherwise. Who decides about a row has it locked, and reads the clock after
-- that. Nobody waits for a row lock: a row that somebody else has locked counts as held.
BEGIN;
-- A path set by somebody else would find that user's functions. And nobody shall wait behind it for long.
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL lock_timeout = '2s';
SELECT pg_advisory_xact_lock(7077, 1);

CREATE SCHEMA IF NOT EXISTS @schema@;

-- The functions run with the rights of whoever runs this. So nothing in the schema may be anybody else's, nor
-- made by anybody else later: whoever may make schemas in the database could have made this one before.
DO $trust$
DECLARE
  place constant oid := '@schema@'::regnamespace;
  me constant oid := (SELECT oid FROM pg_roles WHERE rolname = current_user);
  tables constant oid[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = place
                                  AND relname IN ('lock', 'ticket', 'once', 'run', 'run_ticket', 'run_floor'));
  found text;
BEGIN
  SELECT string_agg(what, ', ') INTO found FROM (
    SELECT 'the schema, of ' || nspowner::regrole FROM pg_namespace WHERE oid = place AND nspowner <> me
    UNION ALL
    SELECT 'a right to CREATE, of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_namespace, aclexplode(nspacl)
     WHERE oid = place AND privilege_type = 'CREATE' AND grantee <> me
    UNION ALL
    SELECT oid::regclass || ', of ' || relowner::regrole FROM pg_class
     WHERE relnamespace = place AND relowner <> me
    UNION ALL
    SELECT oid::regprocedure || ', of ' || proowner::regrole FROM pg_proc
     WHERE pronamespace = place AND proowner <> me
    UNION ALL
    SELECT 'type ' || oid::regtype || ', of ' || typowner::regrole FROM pg_type
     WHERE typnamespace = place AND typowner <> me
    UNION ALL
    SELECT 'operator ' || oid::regoperator || ', of ' || oprowner::regrole FROM pg_operator
     WHERE oprnamespace = place AND oprowner <> me
    UNION ALL
    SELECT 'a right to TRIGGER, of ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class, aclexplode(relacl)
     WHERE oid = ANY (tables) AND privilege_type = 'TRIGGER' AND grantee <> me
    UNION ALL
    SELECT oid::regclass || ' is no plain table' FROM pg_class
     WHERE oid = ANY (tables) AND (relkind <> 'r' OR relispartition)
    UNION ALL
    SELECT 'trigger ' || quote_ident(tgname) FROM pg_trigger WHERE tgrelid = ANY (tables) AND NOT tgisinternal
    UNION ALL
    SELECT 'rule ' || quote_ident(rulename) FROM pg_rewrite WHERE ev_class = ANY (tables)
    UNION ALL
    SELECT 'policy ' || quote_ident(polname) FROM pg_policy WHERE polrelid = ANY (tables)
    UNION ALL
    SELECT inhrelid::regclass || ' inherits' FROM pg_inherits
     WHERE inhparent = ANY (tables) OR inhrelid = ANY (tables)
    UNION ALL
    SELECT indexrelid::regclass || ' computes' FROM pg_index
     WHERE indrelid = ANY (tables) AND (indexprs IS NOT NULL OR indpred IS NOT NULL)
  ) AS strange(what);
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'schema @schema@ is not only of %, who would run its code: %',
                    current_user, found USING ERRCODE = '42501';
  END IF;
END
$trust$;


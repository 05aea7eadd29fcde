-- The functions run with the rights of whoever runs this. So nothing in the schema may be anybody else's, nor
-- made by anybody else later: whoever may make schemas in the database could have made this one before. Looked
-- at twice: before anything is changed, and when all is there.
DO $trust$
DECLARE
  place constant oid := '@schema@'::regnamespace;
  me constant oid := (SELECT oid FROM pg_roles WHERE rolname = current_user);
  tables constant oid[] := ARRAY(SELECT oid FROM pg_class WHERE relnamespace = place AND relname IN (@tables@));
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

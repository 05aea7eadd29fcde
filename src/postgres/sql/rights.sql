-- Nobody may anything but the owner, and those who are granted it below: neither everybody, who may call a function
-- when it is made, nor whom ALTER DEFAULT PRIVILEGES has given it, who could change rows, or have a trigger of theirs
-- run with the owner's rights. Of what was there before somebody may have been granted the sight or the call on
-- purpose. What else the owner keeps in this schema is not ours to revoke: see the names in cmake/PostgresSql.cmake.
DO $revoke$
DECLARE
  place constant oid := '@schema@'::regnamespace;
  there constant oid[] := string_to_array(current_setting('@schema@.there'), ' ')::oid[];
  tables constant oid[] := ARRAY(SELECT oid FROM pg_class
                                  WHERE relnamespace = place AND relname IN (@tables@, @views@));
  -- Those that number the tickets.
  sequences constant oid[] := ARRAY(SELECT objid FROM pg_depend
                                     WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
                                       AND refobjid = ANY (tables) AND refobjsubid > 0 AND deptype = 'i');
  right_of_another text;
BEGIN
  FOR right_of_another IN
    SELECT privilege_type || ' ON ' || CASE relkind WHEN 'S' THEN 'SEQUENCE ' ELSE '' END || c.oid::regclass
           || ' FROM ' || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class AS c, aclexplode(relacl)
     WHERE c.oid = ANY (tables || sequences) AND grantee <> relowner
       AND (grantee = 0 OR privilege_type <> 'SELECT' OR c.oid <> ALL (there))
    UNION ALL
    SELECT privilege_type || ' (' || quote_ident(attname) || ') ON ' || c.oid::regclass || ' FROM '
           || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_class AS c JOIN pg_attribute ON attrelid = c.oid, aclexplode(attacl)
     WHERE c.oid = ANY (tables) AND grantee <> relowner AND privilege_type <> 'SELECT'
    UNION ALL
    SELECT 'EXECUTE ON FUNCTION ' || p.oid::regprocedure || ' FROM '
           || CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END
      FROM pg_proc AS p, aclexplode(coalesce(proacl, acldefault('f', proowner)))
     WHERE pronamespace = place AND proname IN (@functions@) AND grantee <> proowner
       AND (grantee = 0 OR p.oid <> ALL (there))
  LOOP
    EXECUTE 'REVOKE ' || right_of_another || ' CASCADE';
  END LOOP;
END
$revoke$;

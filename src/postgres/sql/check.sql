-- What the role lacks of what application.sql grants, and what the owner lacks by whose rights the functions run; in
-- words. Nothing: the role may take, renew and release every kind of lock. Then the client writes a row, since only a
-- write shows a full disk or a standby that does not confirm.
SELECT coalesce(pg_catalog.string_agg(missing.what, ', '), '') FROM (
  SELECT pg_catalog.concat('SELECT ON @schema@.', needed.name) AS what
    FROM pg_catalog.unnest(ARRAY[@granted_tables@]::pg_catalog.name[]) AS needed(name)
   WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class AS c, pg_catalog.pg_namespace AS n
                      WHERE n.nspname = '@schema@'::pg_catalog.name AND c.relnamespace = n.oid AND c.relname = needed.name
                        AND pg_catalog.has_table_privilege(c.oid, 'SELECT'))
  UNION ALL
  SELECT pg_catalog.concat('EXECUTE ON FUNCTION @schema@.', needed.name)
    FROM pg_catalog.unnest(ARRAY[@granted_functions@]::pg_catalog.name[]) AS needed(name)
   WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_proc AS p, pg_catalog.pg_namespace AS n
                      WHERE n.nspname = '@schema@'::pg_catalog.name AND p.pronamespace = n.oid AND p.proname = needed.name
                        AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))
  UNION ALL
  SELECT pg_catalog.concat(needed.privilege, ' ON @schema@.', c.relname, ' for the owner of the schema')
    FROM pg_catalog.pg_class AS c, pg_catalog.pg_namespace AS n,
         pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']::pg_catalog.text[]) AS needed(privilege)
   WHERE n.nspname = '@schema@'::pg_catalog.name AND c.relnamespace = n.oid AND c.relkind = 'r'::pg_catalog."char"
     AND c.relname = ANY (ARRAY[@granted_tables@]::pg_catalog.name[])
     AND NOT pg_catalog.has_table_privilege(c.relowner, c.oid, needed.privilege)) AS missing

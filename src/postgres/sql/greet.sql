-- Is this server good enough, and is it one: a pooler's connections have several. A table that is not there yet,
-- or not any more, is told of by the version, or by whoever calls.
SELECT @schema@.schema_version(), pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(),
  pg_catalog.current_setting('transaction_read_only') = 'on',
  pg_catalog.current_setting('default_transaction_isolation') = 'read committed',
  NOT EXISTS (SELECT FROM pg_catalog.pg_class AS k WHERE k.relpersistence <> 'p' AND k.oid IN
      (c.oid, pg_catalog.to_regclass('@schema@.share')::pg_catalog.oid,
       pg_catalog.to_regclass('@schema@.gate')::pg_catalog.oid,
       pg_catalog.to_regclass('@schema@.gate_share')::pg_catalog.oid,
       pg_catalog.to_regclass('@schema@.run')::pg_catalog.oid,
       pg_catalog.to_regclass('@schema@.once')::pg_catalog.oid,
       pg_catalog.to_regclass('@schema@.run_floor')::pg_catalog.oid)),
  (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique
      AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL) >= 2,
  @schema@.whereabouts(),
  (SELECT d.oid::pg_catalog.int8 FROM pg_catalog.pg_database AS d WHERE d.datname = pg_catalog.current_database()),
  pg_catalog.clock_timestamp()
FROM pg_catalog.pg_class AS c WHERE c.oid = '@schema@.lock'::pg_catalog.regclass::pg_catalog.oid

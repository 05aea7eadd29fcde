-- The settings of a connection of our own. Plans are made once; without the switches one that was made
-- for a small table would read a large one from end to end. To the planner a switched-off scan costs as much as
-- a report of hours, for which it would compile machine code (30 ms) each time. For the search path and the
-- time-out of locks see take.sql. Grants are on disk before they are told, whatever is the role's default; that a
-- wait for a standby was ended is told by a warning, and by nothing else.
SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),
  pg_catalog.set_config('default_transaction_isolation', 'read committed', false),
  pg_catalog.set_config('lock_timeout', '50ms', false),
  CASE WHEN pg_catalog.current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
       THEN pg_catalog.set_config('synchronous_commit', 'on', false) END,
  CASE WHEN pg_catalog.current_setting('client_min_messages') = 'error'
       THEN pg_catalog.set_config('client_min_messages', 'warning', false) END,
  pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false),
  pg_catalog.set_config('enable_seqscan', 'off', false),
  pg_catalog.set_config('enable_bitmapscan', 'off', false),
  CASE WHEN pg_catalog.current_setting('jit', true) IS NOT NULL
       THEN pg_catalog.set_config('jit', 'off', false) END,
  CASE WHEN pg_catalog.current_setting('idle_session_timeout', true) IS NOT NULL
       THEN pg_catalog.set_config('idle_session_timeout', '0', false) END

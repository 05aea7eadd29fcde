-- For administrators; applications have no right to it. Ends whichever holds there are, of a lock and of a semaphore
-- of that name, and tells those who wait, as those expect who call it by hand. On disk
-- before it is told. A key whose run it ends stays pending.
--
-- `of_number`, `of_permit`, `of_run`: ends only that hold of the lock, of the semaphore, or that run of the key. So the
-- call may be repeated when its answer was lost, and may come late, when the next client has the name; 0 means none.
-- A client that passes a number calls wake() afterwards, for what release.sql says of NOTIFY.
--
-- Returns  who held it, as inspect.sql does; no row where nobody did; error 55P03 while the row is locked
CREATE OR REPLACE FUNCTION @schema@.force_release(
  the_name bytea, of_number bigint DEFAULT NULL, of_permit bigint DEFAULT NULL, of_run bigint DEFAULT NULL)
RETURNS TABLE (its_number bigint, its_end timestamptz, its_label bytea, at timestamptz, waiters bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  PERFORM @schema@.promise();
  IF of_number IS DISTINCT FROM 0 THEN RETURN QUERY SELECT * FROM @schema@.expel(the_name, of_number); END IF;
  IF of_permit <> 0 OR (of_number IS NULL AND of_permit IS NULL) THEN
    RETURN QUERY SELECT * FROM @schema@.expel_gate(the_name, of_permit);
  END IF;
  IF of_run <> 0 THEN RETURN QUERY SELECT * FROM @schema@.expel_run(the_name, of_run); END IF;
END
$function$;

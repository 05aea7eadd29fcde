-- Nobody may anything but the owner, and those who are granted it below.
REVOKE ALL ON ALL TABLES IN SCHEMA @schema@ FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;

-- Who had them before.
DO $grants$
DECLARE
  who regrole;
BEGIN
  FOR who IN SELECT application::oid
               FROM unnest(string_to_array(current_setting('@schema@.applications'), ' ')) AS application LOOP
    EXECUTE 'GRANT USAGE ON SCHEMA @schema@ TO ' || who;
    EXECUTE 'GRANT SELECT ON @schema@.lock, @schema@.ticket, @schema@.once, @schema@.once_keys, @schema@.run, @schema@.run_ticket TO ' || who;
    EXECUTE 'GRANT EXECUTE ON FUNCTION @schema@.schema_version(), @schema@.schema_versions(), '
      '@schema@.whereabouts(), @schema@.take, @schema@.take_apart, @schema@.release, @schema@.release_apart, '
      '@schema@.wake, @schema@.renew, @schema@.cancel, @schema@.guard, @schema@.lock_in, @schema@.told, '
      '@schema@.begin_key, @schema@.cancel_key, @schema@.release_apart_run, @schema@.wake_run, @schema@.renew_run, '
      '@schema@.conclude_key, @schema@.conclude_in, @schema@.forget_key TO ' || who;
  END LOOP;
  FOR who IN SELECT administrator::oid
               FROM unnest(string_to_array(current_setting('@schema@.administrators'), ' ')) AS administrator LOOP
    EXECUTE 'GRANT EXECUTE ON FUNCTION @schema@.force_release TO ' || who;
  END LOOP;
END
$grants$;

-- What an application needs.
GRANT USAGE ON SCHEMA @schema@ TO @role@;
GRANT SELECT ON @schema@.lock, @schema@.ticket TO @role@;
GRANT EXECUTE ON FUNCTION @schema@.schema_version(), @schema@.schema_versions(),
  @schema@.whereabouts(), @schema@.take, @schema@.take_apart, @schema@.release,
  @schema@.release_apart, @schema@.wake, @schema@.renew, @schema@.cancel, @schema@.guard, @schema@.lock_in TO @role@;

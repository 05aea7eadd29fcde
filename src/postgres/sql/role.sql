-- What an application needs.
GRANT USAGE ON SCHEMA @schema@ TO @role@;
GRANT SELECT ON @schema@.lock, @schema@.ticket, @schema@.share, @schema@.once, @schema@.once_keys, @schema@.run,
  @schema@.run_ticket, @schema@.gate, @schema@.gate_ticket, @schema@.gate_share TO @role@;
GRANT EXECUTE ON FUNCTION @schema@.schema_version(), @schema@.schema_versions(),
  @schema@.whereabouts(), @schema@.take, @schema@.take_apart, @schema@.release,
  @schema@.release_apart, @schema@.wake, @schema@.renew, @schema@.cancel, @schema@.guard, @schema@.lock_in,
  @schema@.told, @schema@.begin_key, @schema@.cancel_key, @schema@.release_apart_run, @schema@.wake_run,
  @schema@.renew_run, @schema@.conclude_key, @schema@.conclude_in, @schema@.forget_key, @schema@.share, @schema@.take_share,
  @schema@.renew_share, @schema@.share_gate, @schema@.take_share_gate, @schema@.cancel_gate,
  @schema@.release_gate, @schema@.release_apart_gate,
  @schema@.wake_gate, @schema@.renew_share_gate TO @role@;

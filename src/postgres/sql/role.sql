-- What an application needs.
GRANT USAGE ON SCHEMA @schema@ TO @role@;
GRANT SELECT ON @schema@.lock, @schema@.ticket, @schema@.share, @schema@.once, @schema@.once_keys, @schema@.run,
  @schema@.run_ticket, @schema@.gate, @schema@.gate_ticket, @schema@.gate_share TO @role@;
GRANT EXECUTE ON FUNCTION @schema@.schema_version(), @schema@.whereabouts(),
  @schema@.take, @schema@.cancel, @schema@.release, @schema@.renew, @schema@.renew_share, @schema@.wake,
  @schema@.take_gate, @schema@.cancel_gate, @schema@.release_gate, @schema@.renew_share_gate, @schema@.wake_gate,
  @schema@.begin_key, @schema@.cancel_key, @schema@.release_key, @schema@.conclude_key, @schema@.renew_run,
  @schema@.wake_run, @schema@.told, @schema@.forget_key,
  @schema@.guard, @schema@.lock_in, @schema@.conclude_in TO @role@;

-- What is remembered of a key. $1 key
SELECT @schema@.told(o.state, o.state = 'P' AND coalesce(l.expires_at > pg_catalog.clock_timestamp(), false),
                     o.run, o.number, o.fingerprint, o.bytes)
  FROM @schema@.once AS o LEFT JOIN @schema@.run AS l ON l.name = o.key
 WHERE o.key = $1 AND o.state <> '-'
   AND (o.kept_until > pg_catalog.clock_timestamp() OR l.expires_at > pg_catalog.clock_timestamp())

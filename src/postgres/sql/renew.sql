-- Moves the ends of holds, all in one statement. Each is checked for attempt and number, and for its
-- end by the clock, after its row was locked: a hold that has lapsed does not come back. Rows are
-- locked in the order of their names, and those that somebody else has locked are passed over.
--
-- Returns  for each hold  1 renewed    0 not this hold's any more    ? the row was locked
CREATE OR REPLACE FUNCTION @schema@.renew@of@(
  names bytea[], attempts bytea[], numbers bigint[], leases bigint[]) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  answers text;
  at integer;
BEGIN
  PERFORM @schema@.promise();
  WITH asked AS (
    SELECT * FROM unnest(names, attempts, numbers, leases)
             WITH ORDINALITY AS a(name, attempt, number, lease, place)
  ), picked AS (
    SELECT l.name, a.place, a.lease
      FROM asked AS a JOIN @schema@.@lock@ AS l USING (name, attempt, number)
     WHERE l.expires_at > clock_timestamp()
     ORDER BY l.name FOR NO KEY UPDATE OF l SKIP LOCKED
  ), renewed AS (
    UPDATE @schema@.@lock@ AS l
       SET lease = p.lease, expires_at = clock_timestamp() + p.lease * interval '1 microsecond'
      FROM picked AS p
     WHERE l.name = p.name AND l.expires_at > clock_timestamp()
    RETURNING p.place
  )
  SELECT string_agg(CASE WHEN r.place IS NOT NULL THEN '1'
                         WHEN l.expires_at > clock_timestamp() THEN '?'
                         ELSE '0' END, '' ORDER BY a.place)
    INTO answers
    FROM asked AS a
    LEFT JOIN renewed AS r USING (place)
    LEFT JOIN @schema@.@lock@ AS l USING (name, attempt, number);
  IF @shares@ THEN
    -- An owner that reads as well is one of those who share the name.
    FOR at IN SELECT i FROM generate_subscripts(names, 1) AS i WHERE substr(answers, i, 1) = '0' LOOP
      IF EXISTS (SELECT FROM @schema@.@share@ WHERE name = names[at] AND attempt = attempts[at]) THEN
        answers := overlay(answers PLACING
          translate(@schema@.renew_share@of@(names[at:at], attempts[at:at], numbers[at:at],
                                             leases[at:at]), 'W', '1') FROM at FOR 1);
      END IF;
    END LOOP;
  END IF;
  RETURN answers;
END
$function$;

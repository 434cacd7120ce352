-- Browsers in which a person is signed in to the console. The browser holds 32 random bytes in a cookie; the row their
-- digest. It ends with its sign-in.
create table console_sessions (
  id uuid primary key,
  digest bytea not null unique,
  person_id uuid not null references people,
  sign_in_id uuid not null references sign_ins,
  created_at timestamptz not null,
  seen_at timestamptz not null,
  ends_at timestamptz not null,
  -- When the person last proved who they are.
  signed_in_at timestamptz not null,
  agent text,
  address text
);
create index console_sessions_of_person on console_sessions (person_id);
create index console_sessions_by_end on console_sessions (ends_at);

-- The guard of the console in one call, as `judge_bearer` is for bearers: whose browser it is right now, as a member of the
-- organization that the request names, and a token from the buckets of the client's address and of that membership. A
-- request that names none is metered by its address alone. `outcome` is granted, invalid, stranger (of a live session,
-- without a membership in that organization), or the policy whose bucket is empty.
create function judge_console(
  credential bytea, organization uuid, address text, at timestamptz, idle interval, metered boolean,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out standing bearer_standing, out remaining double precision, out session_id uuid,
  out person_id uuid, out sign_in_id uuid, out ends_at timestamptz, out signed_in_at timestamptz)
language plpgsql as $$
declare
  taken metering;
  seen timestamptz;
begin
  if metered then
    taken := take_token('address/' || address, edge_burst, edge_per_minute, at);
    remaining := taken.remaining;
    if not taken.granted then
      outcome := 'svc-cloud-auth';
      return;
    end if;
  end if;
  select c.id, c.person_id, c.sign_in_id, c.ends_at, c.signed_in_at, c.seen_at
    into session_id, person_id, sign_in_id, ends_at, signed_in_at, seen
    from console_sessions c join sign_ins s on s.id = c.sign_in_id join people p on p.id = c.person_id
    where c.digest = credential and c.ends_at > at and c.seen_at > at - idle and s.ended_at is null
      and p.disabled_at is null;
  if not found then
    outcome := 'invalid';
    return;
  end if;
  if organization is not null then
    select 'person', m.person_id, m.organization_id, null::text[], m.role, m.permissions, m.id, null::uuid,
           o.cloud_access, judge_console.ends_at, o.rate_burst, o.rate_per_minute
      into standing
      from memberships m join organizations o on o.id = m.organization_id
      where m.person_id = judge_console.person_id and m.organization_id = organization and m.revoked_at is null
        and o.suspended_at is null;
    if not found then
      outcome := 'stranger';
      return;
    end if;
    if metered then
      taken := take_token(
        'membership/' || standing.membership_id, coalesce(standing.rate_burst, burst),
        coalesce(standing.rate_per_minute, per_minute), at);
      remaining := taken.remaining;
      if not taken.granted then
        outcome := 'svc-cloud';
        return;
      end if;
    end if;
  end if;
  -- To the minute, so that a page that asks often does not write its row each time.
  if metered and seen <= at - interval '1 minute' then
    update console_sessions c set seen_at = at where c.id = session_id and c.seen_at < at;
  end if;
  outcome := 'granted';
end $$;

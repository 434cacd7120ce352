-- The AI gateway. A Run's agent calls it with a credential of the Run, which ends with the Run; only the digest is kept.
create table runtime_credentials (
  token_sha256 bytea primary key,
  organization_id uuid not null,
  session_id uuid not null,
  run_id uuid not null,
  -- US dollars that the Run may spend; null: no bound.
  budget_usd numeric check (budget_usd >= 0),
  created_at timestamptz not null,
  foreign key (organization_id, session_id, run_id) references runs
);

-- Catalog ids that an organization may use; without a row it may use them all.
create table gateway_models (
  organization_id uuid not null references organizations,
  model text not null,
  primary key (organization_id, model)
);

-- What an organization, or one of its keys, may spend in each day or month of UTC, or ever. `spent_usd` is of the period
-- that began at `period_started_at`; in a later one it counts as nothing.
create table gateway_budgets (
  id uuid primary key,
  organization_id uuid not null references organizations,
  api_key_id uuid references api_keys,
  period text not null check (period in ('day', 'month', 'total')),
  limit_usd numeric not null check (limit_usd >= 0),
  spent_usd numeric not null default 0,
  period_started_at timestamptz not null,
  unique nulls not distinct (organization_id, api_key_id, period)
);

create function gateway_period_start(period text, at timestamptz) returns timestamptz language sql immutable as $$
  select case period
    when 'total' then '-infinity'::timestamptz
    else date_trunc(period, at at time zone 'UTC') at time zone 'UTC'
  end
$$;

create function gateway_period_end(period text, at timestamptz) returns timestamptz language sql immutable as $$
  select case period
    when 'total' then 'infinity'::timestamptz
    else (date_trunc(period, at at time zone 'UTC') + ('1 ' || period)::interval) at time zone 'UTC'
  end
$$;

-- One row for each request that reached a provider. A Run's row is there, `open`, before the provider answers, so that
-- a gateway that was killed leaves a cost that is known to be unknown.
create table gateway_requests (
  id uuid primary key,
  organization_id uuid not null references organizations,
  credential_kind text not null check (credential_kind in ('ai_key', 'runtime', 'installation', 'person', 'end_user')),
  api_key_id uuid references api_keys,
  session_id uuid,
  run_id uuid,
  wire text not null check (wire in ('chat', 'responses')),
  provider text not null,
  model text not null,
  outcome text not null check (outcome in ('open', 'completed', 'failed', 'left')),
  error_code text,
  input_tokens bigint,
  cached_input_tokens bigint,
  output_tokens bigint,
  reasoning_tokens bigint,
  -- Null where it is not known: the model has no price, or the provider did not say what it used.
  cost_usd numeric,
  first_token_ms integer,
  duration_ms integer,
  started_at timestamptz not null
);
create index gateway_requests_of_run on gateway_requests (organization_id, session_id, run_id) where run_id is not null;
create index gateway_requests_by_time on gateway_requests (started_at);

-- Takes as many tokens as are wanted and there, none in part. Where there is none the row stays as it is, so a flood
-- cannot keep a bucket from refilling.
create function take_tokens(
  bucket text, wanted integer, burst double precision, per_minute double precision, at timestamptz,
  out granted integer, out remaining double precision)
language plpgsql as $$
declare
  left_over double precision;
begin
  loop
    select least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60)
      into left_over from rate_buckets b where b.key = bucket for update;
    exit when found;
    insert into rate_buckets (key, tokens, refilled_at) values (bucket, burst, at) on conflict do nothing;
  end loop;
  granted := least(wanted, floor(left_over)::bigint);
  remaining := left_over - granted;
  if granted > 0 then
    update rate_buckets b set tokens = remaining, refilled_at = greatest(b.refilled_at, at) where b.key = bucket;
  end if;
end $$;

-- The gateway's guard, in one call: who a credential stands for, tokens from its bucket for the requests
-- that came with it at the same moment, and what it may still spend. `granted` of them are let in.
-- The address's bucket is taken from only by credentials that do not hold, since every sandbox of a host comes from one
-- address. Access tokens of people, installation tokens and end-user tokens have their place after the runtime
-- credential; until something issues them they are invalid.
create function judge_gateway_credential(
  credential bytea, address text, at timestamptz, wanted integer,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out granted integer, out remaining double precision, out kind text, out organization_id uuid, out capabilities text[],
  out api_key_id uuid, out session_id uuid, out run_id uuid, out allowed_models text[],
  out quota_ends_at timestamptz, out budget_usd numeric, out spent_usd numeric)
language plpgsql as $$
declare
  bucket text;
begin
  select 'ai_key', k.id, i.organization_id, i.capabilities, 'ai/installation/' || i.id
    into kind, api_key_id, organization_id, capabilities, bucket
    from api_keys k join installations i on i.id = k.installation_id
    where k.digest = credential and k.kind = 'ai' and k.revoked_at is null and i.revoked_at is null
      and (k.expires_at is null or k.expires_at > at);
  if not found then
    select 'runtime', c.organization_id, c.session_id, c.run_id, c.budget_usd, array['svc.ai.invoke'], 'ai/run/' || c.run_id
      into kind, organization_id, session_id, run_id, budget_usd, capabilities, bucket
      from runtime_credentials c
      join runs r on (r.organization_id, r.session_id, r.id) = (c.organization_id, c.session_id, c.run_id)
      where c.token_sha256 = credential and r.ended_at is null;
  end if;
  if kind is null then
    select t.granted, t.remaining into granted, remaining
      from take_tokens('address/' || address, wanted, edge_burst, edge_per_minute, at) t;
    outcome := 'invalid';
    return;
  end if;
  select t.granted, t.remaining into granted, remaining from take_tokens(bucket, wanted, burst, per_minute, at) t;
  outcome := 'granted';
  if granted = 0 then
    return;
  end if;
  select array_agg(m.model) into allowed_models from gateway_models m
    where m.organization_id = judge_gateway_credential.organization_id;
  select max(gateway_period_end(b.period, at)) into quota_ends_at from gateway_budgets b
    where b.organization_id = judge_gateway_credential.organization_id
      and (b.api_key_id is null or b.api_key_id = judge_gateway_credential.api_key_id)
      and case when b.period_started_at < gateway_period_start(b.period, at) then 0 else b.spent_usd end >= b.limit_usd;
  if budget_usd is not null then
    select coalesce(sum(q.cost_usd), 0) into spent_usd from gateway_requests q
      where q.organization_id = judge_gateway_credential.organization_id
        and q.session_id = judge_gateway_credential.session_id and q.run_id = judge_gateway_credential.run_id;
  end if;
end $$;

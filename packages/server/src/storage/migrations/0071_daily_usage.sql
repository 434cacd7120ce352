-- Requests of long ago, summed up by the day in UTC. Every other dimension of a report stays apart.
create table gateway_daily_usage (
  organization_id uuid not null references organizations,
  -- The start of the day.
  started_at timestamptz not null,
  credential_kind text not null,
  api_key_id uuid,
  installation_id uuid,
  person_id uuid,
  end_user_id text,
  session_id uuid,
  run_id uuid,
  provider text not null,
  model text not null,
  requests bigint not null,
  failed bigint not null,
  input_tokens bigint not null,
  cached_input_tokens bigint not null,
  output_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_usd numeric not null,
  -- Requests whose cost is not known, and not in the sum.
  unknown_cost bigint not null,
  unique nulls not distinct (
    organization_id, started_at, credential_kind, api_key_id, installation_id, person_id, end_user_id, session_id, run_id,
    provider, model)
);
create index gateway_daily_usage_of_person on gateway_daily_usage (organization_id, person_id, started_at)
  where person_id is not null;
create index gateway_daily_usage_of_run on gateway_daily_usage (organization_id, session_id, run_id)
  where run_id is not null;
create index gateway_daily_usage_by_time on gateway_daily_usage (started_at);

-- The whole usage: each request of late, and the sums of those before.
create view gateway_usage as
select organization_id, started_at, credential_kind, api_key_id, installation_id, person_id, end_user_id, session_id, run_id,
  provider, model, 1::bigint as requests, (outcome = 'failed')::integer::bigint as failed,
  coalesce(input_tokens, 0) as input_tokens, coalesce(cached_input_tokens, 0) as cached_input_tokens,
  coalesce(output_tokens, 0) as output_tokens, coalesce(reasoning_tokens, 0) as reasoning_tokens,
  coalesce(cost_usd, 0) as cost_usd, (cost_usd is null)::integer::bigint as unknown_cost
from gateway_requests
union all
select organization_id, started_at, credential_kind, api_key_id, installation_id, person_id, end_user_id, session_id, run_id,
  provider, model, requests, failed, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, cost_usd,
  unknown_cost
from gateway_daily_usage;

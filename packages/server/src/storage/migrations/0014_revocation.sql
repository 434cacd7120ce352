-- A Run's credential ends with the installation that owns the Session, not only with the Run: an agent whose owner was
-- revoked gets no further answer of a model, whatever else still has to be cancelled. Sessions of people stay the
-- organization's when a person leaves, and so do their Runs at work.
create or replace function judge_gateway_credential(
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
      join sessions s on (s.organization_id, s.id) = (c.organization_id, c.session_id)
      left join installations o on s.owner_kind = 'app_installation' and o.id = s.owner_id
      where c.token_sha256 = credential and r.ended_at is null and o.revoked_at is null;
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

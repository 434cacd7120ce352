-- The use of models by a Run counts for the person who made its Session, whoever owns it.
create or replace function judge_gateway_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid, end_user text,
  address text, at timestamptz, wanted integer,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out granted integer, out remaining double precision, out kind text, out organization_id uuid,
  out capabilities text[], out role text, out cloud_access boolean, out api_key_id uuid, out installation_id uuid,
  out person_id uuid, out end_user_id text, out session_id uuid, out run_id uuid, out allowed_models text[],
  out quota_ends_at timestamptz, out budget_usd numeric, out spent_usd numeric, out rate_burst integer,
  out rate_per_minute integer)
language plpgsql as $$
declare
  bucket text;
  standing bearer_standing;
begin
  if bearer_kind = 'runtime' then
    select 'runtime', c.organization_id, c.session_id, c.run_id, c.budget_usd, array['svc.ai.invoke'], 'ai/run/' || c.run_id,
           true, o.id, case s.owner_kind when 'person' then s.owner_id else s.initiated_by end, g.rate_burst, g.rate_per_minute
      into kind, organization_id, session_id, run_id, budget_usd, capabilities, bucket, cloud_access, installation_id,
           person_id, rate_burst, rate_per_minute
      from runtime_credentials c
      join runs r on (r.organization_id, r.session_id, r.id) = (c.organization_id, c.session_id, c.run_id)
      join sessions s on (s.organization_id, s.id) = (c.organization_id, c.session_id)
      join organizations g on g.id = c.organization_id
      left join installations o on s.owner_kind = 'app_installation' and o.id = s.owner_id
      where c.token_sha256 = credential and r.ended_at is null and g.suspended_at is null and g.cloud_access
        and (o.id is null or (o.revoked_at is null and o.capabilities @> '{svc.cloud.access}'));
  else
    select * into standing from resolve_bearer(
      case bearer_kind when 'end_user' then 'installation' else bearer_kind end,
      credential, subject, member, sign_in, setup, at);
    if found then
      kind := case bearer_kind when 'ai' then 'ai_key' else bearer_kind end;
      organization_id := standing.organization_id;
      capabilities := standing.capabilities;
      role := standing.role;
      cloud_access := standing.cloud_access;
      api_key_id := standing.api_key_id;
      end_user_id := end_user;
      rate_burst := standing.rate_burst;
      rate_per_minute := standing.rate_per_minute;
      if standing.principal_kind = 'person' then
        person_id := standing.principal_id;
        bucket := 'ai/membership/' || standing.membership_id;
      else
        installation_id := standing.principal_id;
        bucket := 'ai/installation/' || standing.principal_id || coalesce('/' || end_user, '');
      end if;
    end if;
  end if;
  if kind is null then
    select t.granted, t.remaining into granted, remaining
      from take_tokens('address/' || address, wanted, edge_burst, edge_per_minute, at) t;
    outcome := 'invalid';
    return;
  end if;
  select t.granted, t.remaining into granted, remaining
    from take_tokens(bucket, wanted, coalesce(rate_burst, burst), coalesce(rate_per_minute, per_minute), at) t;
  outcome := 'granted';
  if granted = 0 then
    return;
  end if;
  select a.allowed_models, a.quota_ends_at into allowed_models, quota_ends_at
    from gateway_allowance(judge_gateway_bearer.organization_id, judge_gateway_bearer.api_key_id, at) a;
  if budget_usd is not null then
    select coalesce(sum(q.cost_usd), 0) into spent_usd from gateway_requests q
      where q.organization_id = judge_gateway_bearer.organization_id
        and q.session_id = judge_gateway_bearer.session_id and q.run_id = judge_gateway_bearer.run_id;
  end if;
end $$;

-- The account service: people and how they sign in, the keys that sign tokens, apps, intents and integrations, the audit
-- log. A guard judges every kind of credential by these rows on each request.

-- Organizations: suspension, product access, and rates of their own.
alter table organizations
  add suspended_at timestamptz,
  add cloud_access boolean not null default true,
  add rate_burst integer check (rate_burst > 0),
  add rate_per_minute integer check (rate_per_minute > 0);

-- People. Without a password they sign in with an external provider, or not until they have followed a link.
alter table people
  alter password_hash drop not null,
  add disabled_at timestamptz,
  add totp_secret bytea,
  -- The newest step whose code was taken: a code counts once.
  add totp_step bigint;

create table external_identities (
  issuer text not null,
  subject text not null,
  person_id uuid not null references people,
  created_at timestamptz not null,
  primary key (issuer, subject)
);
create index external_identities_of_person on external_identities (person_id);

-- One live membership per person and organization. An ended one never lives again, nor does a token that names it.
alter table memberships
  add permissions text[] not null default '{}',
  add last_used_at timestamptz;
alter table memberships drop constraint memberships_organization_id_person_id_key;
create unique index live_memberships on memberships (organization_id, person_id) where revoked_at is null;
create index memberships_of_person on memberships (person_id) where revoked_at is null;
update memberships set permissions = '{organization.integrations.manage,organization.applications.manage}'
  where role = 'admin';

-- One sign-in of a person at one client, for one membership. Its tokens live as long as it does.
create table sign_ins (
  id uuid primary key,
  person_id uuid not null references people,
  membership_id uuid not null references memberships,
  organization_id uuid not null references organizations,
  client_id text not null,
  address text,
  user_agent text,
  created_at timestamptz not null,
  last_used_at timestamptz not null,
  ended_at timestamptz
);
create index sign_ins_of_person on sign_ins (person_id) where ended_at is null;
create index sign_ins_of_membership on sign_ins (membership_id) where ended_at is null;

-- What the OpenID provider keeps: codes, refresh tokens, grants, sessions, device codes. Ids are kept as digests. The kind
-- is part of the key, so that a value of one kind can never be presented as another.
create table oidc_records (
  kind text not null,
  digest bytea not null,
  payload jsonb not null,
  grant_digest bytea,
  user_code_digest bytea,
  uid_digest bytea,
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (kind, digest)
);
create index oidc_records_by_grant on oidc_records (grant_digest) where grant_digest is not null;
create unique index oidc_records_by_user_code on oidc_records (kind, user_code_digest) where user_code_digest is not null;
create unique index oidc_records_by_uid on oidc_records (kind, uid_digest) where uid_digest is not null;
create index oidc_records_by_expiry on oidc_records (expires_at);

-- Keys that sign tokens. A key is published ahead of its use and stays until the last token that it signed has ended.
create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  sealed_private bytea not null,
  created_at timestamptz not null,
  signs_from timestamptz not null,
  signs_until timestamptz not null,
  ends_at timestamptz not null,
  check (created_at <= signs_from and signs_from < signs_until and signs_until < ends_at)
);

-- Apps. `svc-cloud` and `svc-ai` are the service's own and belong to nobody. A slug is never given out again.
alter table apps
  alter organization_id drop not null,
  add redirect_urls text[] not null default '{}',
  add reserved boolean not null default false,
  add deleted_at timestamptz;
insert into apps (slug, organization_id, name, created_at, reserved)
  values ('svc-cloud', null, 'Cloud', now(), true), ('svc-ai', null, 'AI', now(), true);

create table app_keys (
  app_slug text not null references apps,
  kid text not null,
  public_jwk jsonb not null,
  created_by uuid references memberships,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (app_slug, kid)
);

-- Installations: `app` by a consent, `integration` by an administrator, `own` the service's own of an organization.
alter table installations
  add kind text not null default 'app' check (kind in ('app', 'integration', 'own')),
  add name text check (char_length(name) between 1 and 100),
  add created_by uuid references memberships;
update installations set kind = 'integration', name = 'Development' where app_slug = 'development';
update apps set redirect_urls = '{http://127.0.0.1/installed}' where slug = 'development';
create unique index live_app_installations on installations (organization_id, app_slug)
  where kind = 'app' and revoked_at is null;
create unique index own_installations on installations (organization_id) where kind = 'own';

-- A consent: who let an app in. Tokens that name one die with its membership.
create table setup_authorities (
  id uuid primary key,
  installation_id uuid not null references installations,
  membership_id uuid not null references memberships,
  created_at timestamptz not null
);

-- The id of an intent is a secret; its digest is kept.
create table installation_intents (
  digest bytea primary key,
  app_slug text not null references apps,
  capabilities text[] not null,
  redirect_url text,
  state text,
  status text not null default 'pending' check (status in ('pending', 'authorized', 'expired')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  setup_authority_id uuid references setup_authorities,
  check ((status = 'authorized') = (setup_authority_id is not null) or status = 'expired')
);
create index pending_intents_of_app on installation_intents (app_slug) where status = 'pending';

alter table api_keys
  add hint text,
  add last_used_at timestamptz,
  add created_by uuid references memberships;

-- Invitations and resets: a link that works once.
create table one_time_links (
  digest bytea primary key,
  kind text not null check (kind in ('invitation', 'reset')),
  person_id uuid references people,
  organization_id uuid references organizations,
  email text,
  role text check (role in ('member', 'admin')),
  permissions text[] not null default '{}',
  created_by uuid references memberships,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  check (case kind when 'reset' then person_id is not null else organization_id is not null and role is not null end)
);

-- The audit log: rows are added, and forgotten when they are old. Nothing changes them.
create table audit_log (
  id uuid primary key,
  organization_id uuid references organizations,
  at timestamptz not null,
  actor_kind text not null,
  actor_id text,
  actor_name text,
  action text not null,
  target text,
  address text,
  outcome text not null check (outcome in ('done', 'refused')),
  details jsonb not null default '{}'
);
create index audit_log_of_organization on audit_log (organization_id, at desc, id desc);
create index audit_log_by_age on audit_log (at);
create function keep_audit_log() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then
    return old;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end $$;
create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function keep_audit_log();
create trigger audit_log_is_not_truncated before truncate on audit_log execute function keep_audit_log();

-- Whose request it was, beside the key and the Run.
alter table gateway_requests
  add installation_id uuid,
  add person_id uuid,
  add end_user_id text;

-- Who a bearer stands for, live: no row if anything that it rests on has ended. A token's signature and dates are judged
-- before; its claims arrive as `subject`, `member`, `sign_in` and `setup`.
create type bearer_standing as (
  principal_kind text, principal_id uuid, organization_id uuid, capabilities text[], role text, permissions text[],
  membership_id uuid, api_key_id uuid, cloud_access boolean, expires_at timestamptz, rate_burst integer,
  rate_per_minute integer);
create function resolve_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid, at timestamptz)
returns setof bearer_standing language plpgsql stable rows 1 as $$
begin
  if bearer_kind in ('cloud', 'ai') then
    return query
      select 'app_installation', i.id, i.organization_id, i.capabilities, null::text, null::text[], null::uuid, k.id,
             o.cloud_access, k.expires_at, o.rate_burst, o.rate_per_minute
      from api_keys k join installations i on i.id = k.installation_id join organizations o on o.id = i.organization_id
      where k.digest = credential and k.kind = bearer_kind and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > at) and i.revoked_at is null and o.suspended_at is null;
  elsif bearer_kind = 'installation' then
    return query
      select 'app_installation', i.id, i.organization_id, i.capabilities, null::text, null::text[], null::uuid,
             null::uuid, o.cloud_access, null::timestamptz, o.rate_burst, o.rate_per_minute
      from installations i join organizations o on o.id = i.organization_id
      where i.id = subject and i.revoked_at is null and o.suspended_at is null
        and (setup is null or exists (
          select 1 from setup_authorities s join memberships m on m.id = s.membership_id join people p on p.id = m.person_id
          where s.id = setup and s.installation_id = i.id and m.revoked_at is null and p.disabled_at is null));
  elsif bearer_kind = 'person' then
    return query
      select 'person', p.id, m.organization_id, null::text[], m.role, m.permissions, m.id, null::uuid,
             o.cloud_access, null::timestamptz, o.rate_burst, o.rate_per_minute
      from sign_ins s join memberships m on m.id = s.membership_id join people p on p.id = m.person_id
        join organizations o on o.id = m.organization_id
      where s.id = sign_in and s.ended_at is null and m.id = member and p.id = subject and s.person_id = subject
        and m.revoked_at is null and p.disabled_at is null and o.suspended_at is null;
  end if;
end $$;

-- The API's guard in one call: who a bearer stands for right now, and a token from the buckets of the client's address and
-- of the authority. `outcome` is granted, invalid, or the policy whose bucket is empty.
create function judge_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid,
  address text, at timestamptz, metered boolean,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out standing bearer_standing, out remaining double precision)
language plpgsql as $$
declare
  taken metering;
begin
  if metered then
    taken := take_token('address/' || address, edge_burst, edge_per_minute, at);
    remaining := taken.remaining;
    if not taken.granted then
      outcome := 'svc-cloud-auth';
      return;
    end if;
  end if;
  select * into standing from resolve_bearer(bearer_kind, credential, subject, member, sign_in, setup, at);
  if not found then
    outcome := 'invalid';
    return;
  end if;
  if metered then
    taken := take_token(
      case standing.principal_kind when 'person' then 'membership/' || standing.membership_id
        else 'installation/' || standing.principal_id end,
      coalesce(standing.rate_burst, burst), coalesce(standing.rate_per_minute, per_minute), at);
    remaining := taken.remaining;
    if not taken.granted then
      outcome := 'svc-cloud';
      return;
    end if;
  end if;
  outcome := 'granted';
end $$;
drop function judge_credential;

-- The gateway's guard in one call: who a bearer stands for, tokens from its bucket for the requests that came with it at
-- the same moment, and its budgets. `granted` of them are let in. Only credentials that do not hold take from the bucket
-- of their address, since every sandbox of a host comes from one address.
create function judge_gateway_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid, end_user text,
  address text, at timestamptz, wanted integer,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out granted integer, out remaining double precision, out kind text, out organization_id uuid,
  out capabilities text[], out role text, out cloud_access boolean, out api_key_id uuid, out installation_id uuid,
  out person_id uuid, out end_user_id text, out session_id uuid, out run_id uuid, out allowed_models text[],
  out quota_ends_at timestamptz, out budget_usd numeric, out spent_usd numeric)
language plpgsql as $$
declare
  bucket text;
  standing bearer_standing;
begin
  if bearer_kind = 'runtime' then
    select 'runtime', c.organization_id, c.session_id, c.run_id, c.budget_usd, array['svc.ai.invoke'], 'ai/run/' || c.run_id,
           true, o.id, case s.owner_kind when 'person' then s.owner_id end
      into kind, organization_id, session_id, run_id, budget_usd, capabilities, bucket, cloud_access, installation_id,
           person_id
      from runtime_credentials c
      join runs r on (r.organization_id, r.session_id, r.id) = (c.organization_id, c.session_id, c.run_id)
      join sessions s on (s.organization_id, s.id) = (c.organization_id, c.session_id)
      join organizations g on g.id = c.organization_id
      left join installations o on s.owner_kind = 'app_installation' and o.id = s.owner_id
      where c.token_sha256 = credential and r.ended_at is null and o.revoked_at is null and g.suspended_at is null;
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
  select t.granted, t.remaining into granted, remaining from take_tokens(bucket, wanted, burst, per_minute, at) t;
  outcome := 'granted';
  if granted = 0 then
    return;
  end if;
  select array_agg(m.model) into allowed_models from gateway_models m
    where m.organization_id = judge_gateway_bearer.organization_id;
  select max(gateway_period_end(b.period, at)) into quota_ends_at from gateway_budgets b
    where b.organization_id = judge_gateway_bearer.organization_id
      and (b.api_key_id is null or b.api_key_id = judge_gateway_bearer.api_key_id)
      and case when b.period_started_at < gateway_period_start(b.period, at) then 0 else b.spent_usd end >= b.limit_usd;
  if budget_usd is not null then
    select coalesce(sum(q.cost_usd), 0) into spent_usd from gateway_requests q
      where q.organization_id = judge_gateway_bearer.organization_id
        and q.session_id = judge_gateway_bearer.session_id and q.run_id = judge_gateway_bearer.run_id;
  end if;
end $$;
drop function judge_gateway_credential;

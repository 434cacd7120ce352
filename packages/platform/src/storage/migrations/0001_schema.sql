-- The whole schema, in the order of the domain. Reasons are comments in the database, so `\d+` shows them too. A change
-- edits this file until the first release is tagged, and is a numbered file after this one from then on.

-- Accounts. The account service writes these tables; the guard reads them on every request.

create function note_authority_change() returns trigger language plpgsql as $$
begin
  insert into authority_changes (id, kind, position) values (new.id, tg_argv[0], pg_current_xact_id())
    on conflict (id) do update set position = excluded.position;
  return null;
end $$;
comment on function note_authority_change is 'Tells of a change of a row that may stop something: see `authority_changes`.';

create table organizations (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 100),
  cloud_access boolean not null default true,
  rate_burst integer check (rate_burst > 0),
  rate_per_minute integer check (rate_per_minute > 0),
  commit_author text not null default 'person' check (commit_author in ('person', 'app')),
  commit_sign_off boolean not null default false,
  commit_signer text not null default 'deployment' check (commit_signer in ('deployment', 'host')),
  pull_request_section text check (char_length(pull_request_section) <= 2000),
  egress_policy jsonb not null default '{}',
  follow_label text, follow_assignee text, follow_base_commits integer check (follow_base_commits > 0),
  created_at timestamptz not null, suspended_at timestamptz
);
comment on column organizations.pull_request_section is 'Template of the evidence in its pull requests; null for the usual one, empty for none.';
comment on column organizations.egress_policy is 'Hosts that no environment names, and the environments that may use a secret: '
  '{"neverHosts", "secretEnvironments"}.';
comment on column organizations.follow_label is 'Whose removal from a pull request stops its follow-up; null for `berth`.';
comment on column organizations.follow_assignee is 'Likewise; null for `berth` and every app.';
comment on column organizations.follow_base_commits is 'By more of them the base may not be ahead of a pull request that is followed; null: by any number.';
comment on column organizations.cloud_access is 'Whether it may use the product at all.';
comment on column organizations.rate_burst is 'Its own rate, in place of the deployment''s.';
comment on column organizations.commit_author is 'Of its Publications'' commits: who asked, or the app with them as co-author.';
comment on column organizations.commit_sign_off is 'Whether the author signs those commits off.';
comment on column organizations.commit_signer is 'The deployment, if it has a key, or the Git host, which then makes them.';
create trigger organizations_authority after update on organizations for each row
  when ((old.suspended_at, old.cloud_access, old.rate_burst, old.rate_per_minute, old.name)
    is distinct from (new.suspended_at, new.cloud_access, new.rate_burst, new.rate_per_minute, new.name))
  execute function note_authority_change('organization');

create table people (
  id uuid primary key, email text not null,
  name text not null check (char_length(name) between 1 and 100),
  password_hash text, totp_secret bytea, totp_step bigint, totp_form bytea, sessions_since bigint not null default 0,
  created_at timestamptz not null, email_proven_at timestamptz, unlinked_at timestamptz, disabled_at timestamptz
);
comment on column people.password_hash is 'Null: they sign in with an external provider, or not until they have followed a link.';
comment on column people.totp_step is 'The newest step whose code was taken: a code counts once.';
comment on column people.totp_form is 'Digest of the form in which a code was entered last: a double click sends it twice.';
comment on column people.sessions_since is 'Whatever they signed in to before this moment has ended. Seconds of the epoch, '
  'always ahead of every session that there was: a change of the password raises it by one even twice in a second.';
comment on column people.email_proven_at is 'When the email was proven to be theirs: by a link of an operator, or by a '
  'provider that verified it and lists its domain. Null: nothing but an invitation of one organization vouches for it.';
comment on column people.unlinked_at is 'A recovery, or another organization, unlinks whatever others may have linked to the '
  'account. An API whose account service has another database keeps accounts at Git hosts itself, so it hears of it.';
create unique index people_by_email on people (lower(email));
create trigger people_authority after update on people for each row
  when ((old.disabled_at, old.unlinked_at) is distinct from (new.disabled_at, new.unlinked_at))
  execute function note_authority_change('person');

create table external_identities (
  issuer text not null, subject text not null, person_id uuid not null references people,
  created_at timestamptz not null, primary key (issuer, subject)
);
create index external_identities_of_person on external_identities (person_id);

create table recovery_codes (
  person_id uuid not null references people, digest bytea not null,
  used_at timestamptz, used_in bytea, primary key (person_id, digest)
);
comment on table recovery_codes is 'In place of a lost second factor. Each works once; digests are keyed with the master key.';
comment on column recovery_codes.used_in is 'Digest of the form in which it was entered, for a double click.';

create table memberships (
  id uuid primary key, organization_id uuid not null references organizations,
  person_id uuid not null references people,
  role text not null check (role in ('member', 'admin')),
  permissions text[] not null default '{}',
  created_at timestamptz not null, last_used_at timestamptz, revoked_at timestamptz
);
comment on table memberships is 'One live one per person and organization. An ended one stays so, as do tokens that name it.';
create unique index live_memberships on memberships (organization_id, person_id) where revoked_at is null;
create index memberships_of_person on memberships (person_id) where revoked_at is null;
create trigger memberships_authority after update on memberships for each row
  when (old.revoked_at is distinct from new.revoked_at) execute function note_authority_change('membership');

create table sign_ins (
  id uuid primary key, person_id uuid not null references people, membership_id uuid not null references memberships,
  organization_id uuid not null references organizations, client_id text not null, address text, user_agent text,
  created_at timestamptz not null, last_used_at timestamptz not null, ended_at timestamptz
);
comment on table sign_ins is 'One sign-in of a person at one client, for one membership. Its tokens live as long as it does.';
create index sign_ins_of_person on sign_ins (person_id) where ended_at is null;
create index sign_ins_of_membership on sign_ins (membership_id) where ended_at is null;
create trigger sign_ins_authority after update on sign_ins for each row
  when (old.ended_at is distinct from new.ended_at) execute function note_authority_change('sign_in');

create table apps (
  slug text primary key, organization_id uuid references organizations, name text not null,
  redirect_urls text[] not null default '{}', reserved boolean not null default false,
  created_at timestamptz not null, deleted_at timestamptz
);
comment on table apps is 'A slug is never given out again. `svc-cloud` and `svc-ai` are the service''s own and belong to nobody.';
insert into apps (slug, organization_id, name, created_at, reserved)
  values ('svc-cloud', null, 'Cloud', now(), true), ('svc-ai', null, 'AI', now(), true);

create table app_keys (
  app_slug text not null references apps, kid text not null, public_jwk jsonb not null,
  created_by uuid references memberships,
  created_at timestamptz not null, revoked_at timestamptz, primary key (app_slug, kid)
);

create table installations (
  id uuid primary key, organization_id uuid not null references organizations, app_slug text not null references apps,
  kind text not null default 'app' check (kind in ('app', 'integration', 'own', 'far')),
  name text check (char_length(name) between 1 and 100),
  capabilities text[] not null, created_by uuid references memberships,
  created_at timestamptz not null, revoked_at timestamptz
);
comment on column installations.kind is '`app` by a consent, `integration` by an administrator, `own` the service''s own of an '
  'organization, `far` the copy of one whose row is in another database.';
create unique index live_app_installations on installations (organization_id, app_slug) where kind = 'app' and revoked_at is null;
create unique index own_installations on installations (organization_id) where kind = 'own';
create trigger installations_authority after update on installations for each row
  when ((old.revoked_at, old.capabilities) is distinct from (new.revoked_at, new.capabilities))
  execute function note_authority_change('installation');

create table setup_authorities (
  id uuid primary key, installation_id uuid not null references installations,
  membership_id uuid not null references memberships, created_at timestamptz not null
);
comment on table setup_authorities is 'A consent: who let an app in. Tokens that name one die with its membership.';

create table installation_intents (
  digest bytea primary key, app_slug text not null references apps, capabilities text[] not null,
  redirect_url text, state text,
  status text not null default 'pending' check (status in ('pending', 'authorized', 'expired')),
  created_at timestamptz not null, expires_at timestamptz not null,
  setup_authority_id uuid references setup_authorities,
  check ((status = 'authorized') = (setup_authority_id is not null) or status = 'expired')
);
comment on table installation_intents is 'The id of an intent is a secret; its digest is kept.';
create index pending_intents_of_app on installation_intents (app_slug) where status = 'pending';

create table api_keys (
  id uuid primary key, installation_id uuid not null references installations,
  kind text not null check (kind in ('cloud', 'ai')),
  digest bytea not null unique, hint text,
  created_by uuid references memberships,
  created_at timestamptz not null, last_used_at timestamptz, expires_at timestamptz, revoked_at timestamptz
);

create table one_time_links (
  digest bytea primary key,
  kind text not null check (kind in ('invitation', 'reset')),
  person_id uuid references people, organization_id uuid references organizations, email text,
  role text check (role in ('member', 'admin')),
  permissions text[] not null default '{}', created_by uuid references memberships,
  created_at timestamptz not null, expires_at timestamptz not null, used_at timestamptz,
  check (case kind when 'reset' then person_id is not null else organization_id is not null and role is not null end)
);
comment on table one_time_links is 'Invitations and resets: a link that works once.';
comment on column one_time_links.created_by is 'Null: an operator.';

create table oidc_records (
  kind text not null, digest bytea not null, payload jsonb not null,
  grant_digest bytea, user_code_digest bytea, uid_digest bytea,
  expires_at timestamptz, consumed_at timestamptz, primary key (kind, digest)
);
comment on table oidc_records is 'State of the OpenID provider: codes, refresh tokens, grants, sessions, device codes. Ids are '
  'kept as digests. The kind is part of the key, so that a value of one kind can never be presented as another.';
create index oidc_records_by_grant on oidc_records (grant_digest) where grant_digest is not null;
create unique index oidc_records_by_user_code on oidc_records (kind, user_code_digest) where user_code_digest is not null;
create unique index oidc_records_by_uid on oidc_records (kind, uid_digest) where uid_digest is not null;
create index oidc_records_by_expiry on oidc_records (expires_at);

create table signing_keys (
  kid text primary key, public_jwk jsonb not null, sealed_private bytea not null, created_at timestamptz not null,
  signs_from timestamptz not null, signs_until timestamptz not null, expires_at timestamptz not null,
  check (created_at <= signs_from and signs_from < signs_until and signs_until < expires_at)
);
comment on table signing_keys is 'A key is published ahead of its use and stays until the last token that it signed has ended.';

create table statement_keys (
  kid text primary key, public_jwk jsonb not null, sealed_private bytea, created_at timestamptz not null,
  signs_from timestamptz not null, signs_until timestamptz not null, revoked_at timestamptz,
  check (created_at <= signs_from and signs_from < signs_until)
);
comment on table statement_keys is 'Keys that sign statements on Publications. A row stays for good: a statement is verified years later.';
comment on column statement_keys.sealed_private is 'Null once it has signed for the last time: nobody signs in its name later.';
comment on column statement_keys.revoked_at is 'An operator has taken it back: nothing that it signed counts any more.';

create table client_keys (
  client_id text primary key, public_jwk jsonb not null, sealed_private bytea not null,
  created_at timestamptz not null
);
comment on table client_keys is 'Private keys by which the service''s own clients name themselves at the token endpoint.';

create table audit_log (
  id uuid primary key, organization_id uuid references organizations, at timestamptz not null,
  actor_kind text not null, actor_id text, actor_name text, action text not null, target text, address text,
  outcome text not null check (outcome in ('done', 'refused')),
  details jsonb not null default '{}'
);
comment on table audit_log is 'Rows are added, and forgotten when they are old. Nothing changes them.';
create index audit_log_of_organization on audit_log (organization_id, at desc, id desc);
create index audit_log_of_action on audit_log (organization_id, action, at desc, id desc);
create index audit_log_of_actor on audit_log (organization_id, (coalesce(actor_id, actor_kind)), at desc, id desc);
create index audit_log_by_age on audit_log (at);
create function keep_audit_log() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and old.at < now() - interval '30 days' then return old; end if;
  raise exception 'the audit log is append-only' using errcode = 'restrict_violation';
end $$;
create trigger audit_log_is_append_only before update or delete on audit_log for each row execute function keep_audit_log();
create trigger audit_log_is_not_truncated before truncate on audit_log execute function keep_audit_log();

-- Identity. Who is asking, and how much: judged on every request.

create table authority_changes (
  id uuid primary key,
  kind text not null check (kind in ('organization', 'installation', 'membership', 'person', 'sign_in')),
  position xid8 not null
);
comment on table authority_changes is 'The last change of each row that may stop something, for an API whose account service '
  'has another database and which holds copies of those rows. A row that changes again moves on, so the table never has to '
  'forget any.';
comment on column authority_changes.position is 'The number of the transaction: all below the horizon of a snapshot have ended, '
  'so whoever reads up to there missed none.';
create index authority_changes_in_order on authority_changes (position, id);

create unlogged table rate_buckets (
  key text primary key,
  tokens double precision not null, refilled_at timestamptz not null
) with (fillfactor = 50);
comment on table rate_buckets is 'A crash of the database only refills the buckets; no write-ahead log is spent on metering.';

create type metering as (granted boolean, remaining double precision);
create function take_token(bucket text, burst double precision, per_minute double precision, at timestamptz)
returns metering language plpgsql as $$
declare left_over double precision;
begin
  insert into rate_buckets as b (key, tokens, refilled_at) values (bucket, burst - 1, at)
  on conflict (key) do update
    set tokens = least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60) - 1,
        refilled_at = greatest(b.refilled_at, at)
    where least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60) >= 1
  returning tokens into left_over;
  if found then return (true, left_over); end if;
  select least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60)
    into left_over from rate_buckets b where b.key = bucket;
  return (false, coalesce(left_over, 0));
end $$;
comment on function take_token is 'Takes one. A refusal leaves the row as it is, so a flood cannot keep a bucket from refilling.';

create function take_tokens(
  bucket text, wanted integer, burst double precision, per_minute double precision, at timestamptz,
  out granted integer, out remaining double precision)
language plpgsql as $$
declare left_over double precision;
begin
  loop
    select least(burst, b.tokens + greatest(0, extract(epoch from at - b.refilled_at)) * per_minute / 60)
      into left_over from rate_buckets b where b.key = bucket for update;
    exit when found;
    insert into rate_buckets (key, tokens, refilled_at) values (bucket, burst, at) on conflict do nothing;
  end loop;
  granted := least(wanted, floor(left_over)::bigint); remaining := left_over - granted;
  if granted > 0 then
    update rate_buckets b set tokens = remaining, refilled_at = greatest(b.refilled_at, at) where b.key = bucket;
  end if;
end $$;
comment on function take_tokens is 'As many as are wanted and there, none in part. Where there is none the row stays as it is.';

create type bearer_authority as (
  principal_kind text, principal_id uuid, organization_id uuid, capabilities text[], role text, permissions text[],
  membership_id uuid, api_key_id uuid, cloud_access boolean, expires_at timestamptz, rate_burst integer,
  rate_per_minute integer);
create function resolve_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid, at timestamptz)
returns setof bearer_authority language plpgsql stable rows 1 as $$
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
comment on function resolve_bearer is 'Who a bearer stands for, live: no row if anything that it rests on has ended. A '
  'token''s signature and dates are judged before; its claims arrive as `subject`, `member`, `sign_in` and `setup`.';

create function judge_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid,
  address text, at timestamptz, metered boolean,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out authority bearer_authority, out remaining double precision)
language plpgsql as $$
declare taken metering;
begin
  if metered then
    taken := take_token('address/' || address, edge_burst, edge_per_minute, at); remaining := taken.remaining;
    if not taken.granted then outcome := 'svc-cloud-auth'; return; end if;
  end if;
  select * into authority from resolve_bearer(bearer_kind, credential, subject, member, sign_in, setup, at);
  if not found then outcome := 'invalid'; return; end if;
  if metered then
    taken := take_token(
      case authority.principal_kind when 'person' then 'membership/' || authority.membership_id
        else 'installation/' || authority.principal_id end,
      coalesce(authority.rate_burst, burst), coalesce(authority.rate_per_minute, per_minute), at);
    remaining := taken.remaining;
    if not taken.granted then outcome := 'svc-cloud'; return; end if;
  end if;
  outcome := 'granted';
end $$;
comment on function judge_bearer is 'The API''s guard in one call: who a bearer stands for right now, and a token from the '
  'buckets of the client''s address and of the authority. `outcome` is granted, invalid, or the policy whose bucket is empty.';

create unlogged table open_streams (
  authority text not null, holder uuid not null,
  held integer not null check (held > 0),
  expires_at timestamptz not null, primary key (authority, holder)
);
comment on table open_streams is 'Streams that are open, by authority and by the process that serves them, which renews its '
  'rows while it lives. Lost on a crash of the database; the processes write them again with their next renewal.';
create index open_streams_of_holder on open_streams (holder);

create function hold_streams(
  for_authority text, by_holder uuid, already integer, wanted integer, bound integer, life interval)
returns integer language plpgsql as $$
declare elsewhere integer; granted integer;
begin
  perform pg_advisory_xact_lock(hashtextextended('open_streams/' || for_authority, 0));
  select coalesce(sum(held), 0) into elsewhere from open_streams
    where authority = for_authority and holder <> by_holder and expires_at > clock_timestamp();
  granted := greatest(0, least(wanted, bound - elsewhere - already));
  if already + granted = 0 then
    delete from open_streams where authority = for_authority and holder = by_holder;
  else
    insert into open_streams as s (authority, holder, held, expires_at)
      values (for_authority, by_holder, already + granted, clock_timestamp() + life)
      on conflict (authority, holder) do update set held = excluded.held, expires_at = excluded.expires_at;
  end if;
  return granted;
end $$;
comment on function hold_streams is 'Grants a process as many further streams of an authority as are wanted and left of its '
  'bound, and writes how many it holds. One call at a time for each authority: two processes cannot both take the last place.';

-- Environments. How fresh sandboxes of the Sessions that are bound to them are set up.

create table environments (
  organization_id uuid not null references organizations, id uuid not null,
  name text not null, folded_name text not null,
  revision integer not null check (revision > 0),
  is_default boolean not null default false, archived_at timestamptz,
  primary key (organization_id, id), check (not (is_default and archived_at is not null))
);
comment on column environments.name is 'Of the newest revision.';
comment on column environments.folded_name is 'The name in NFC and lower case: live environments differ in it.';
create unique index environments_live_name on environments (organization_id, folded_name) where archived_at is null;
create unique index environments_default on environments (organization_id) where is_default;
create index environments_by_name on environments (organization_id, folded_name, id);

create table environment_revisions (
  organization_id uuid not null, environment_id uuid not null, revision integer not null, document text not null,
  secrets jsonb not null, archives text[] not null default '{}',
  created_by_kind text not null check (created_by_kind in ('person', 'installation')),
  created_by_id uuid not null, created_at timestamptz not null,
  primary key (organization_id, environment_id, revision), foreign key (organization_id, environment_id) references environments
);
comment on table environment_revisions is 'A revision never changes.';
comment on column environment_revisions.document is 'Without `secrets`, keys sorted, no white space: equal ones are equal text.';
comment on column environment_revisions.secrets is 'The versions that it pins: [{"name", "version", "egress"}], by name.';
comment on column environment_revisions.archives is 'Digests of the archives that the document names.';

create table environment_secrets (
  organization_id uuid not null, environment_id uuid not null, name text not null,
  version integer not null check (version > 0),
  size_bytes integer not null, masked boolean not null default true, egress jsonb, sealed bytea,
  created_at timestamptz not null, ended_at timestamptz,
  primary key (organization_id, environment_id, name, version),
  foreign key (organization_id, environment_id) references environments,
  check (sealed is not null or ended_at is not null)
);
comment on table environment_secrets is 'Versions count per name and never come again, so a row outlives its value.';
comment on column environment_secrets.masked is 'It is long enough, in characters and not in bytes, to be masked in output.';
comment on column environment_secrets.egress is 'Where its value may go: {"hosts", "methods", "paths", "put", "setup"}. Sandboxes '
  'hold a placeholder then. Null: they hold the value, as a variable.';
comment on column environment_secrets.sealed is 'The value, sealed under the master key; null once it is destroyed.';
comment on column environment_secrets.ended_at is 'When a later version replaced it, or it was deleted.';
create unique index environment_secrets_current on environment_secrets (organization_id, environment_id, name)
  where ended_at is null;
create index environment_secrets_to_destroy on environment_secrets (ended_at) where sealed is not null;

create table environment_archives (
  organization_id uuid not null, environment_id uuid not null, sha256 text not null,
  size_bytes integer not null check (size_bytes > 0),
  extension jsonb not null, brings_nothing boolean not null default false, unnamed_since timestamptz,
  primary key (organization_id, environment_id, sha256), foreign key (organization_id, environment_id) references environments
);
comment on table environment_archives is 'Extensions that were uploaded to an environment. The blob store keeps the bytes.';
comment on column environment_archives.extension is 'From its `extension.json`: {"id", "name", "version"}.';
comment on column environment_archives.brings_nothing is 'Whether it holds nothing for a runtime.';
comment on column environment_archives.unnamed_since is 'Since when no revision holds it: at first the upload. Null: one does.';

create table environment_caches (
  organization_id uuid not null, environment_id uuid not null, key bytea not null, branch text not null,
  home_manifest text, workspace_manifest text, blobs text[] not null, searched bytea not null,
  saved_at timestamptz not null, used_at timestamptz not null,
  primary key (organization_id, environment_id, key, branch),
  foreign key (organization_id, environment_id) references environments
);
comment on table environment_caches is 'Directories that setups of an environment filled, kept for the next fresh sandbox.';
comment on column environment_caches.key is 'Digest of the paths, the launch repository, the driver and the machine.';
comment on column environment_caches.branch is 'Branch of the launch repository; '''' without one.';
comment on column environment_caches.home_manifest is 'The tree below the home; null if nothing was there.';
comment on column environment_caches.blobs is 'Digests of all blobs of both trees.';
comment on column environment_caches.searched is 'Digest of the secrets for which the content was searched.';
create index environment_caches_unused on environment_caches (used_at);

create table environment_images (
  id uuid primary key, organization_id uuid not null, environment_id uuid not null, revision integer not null,
  variant text not null, platform text not null,
  state text not null check (state in ('building', 'sealed', 'ready', 'unavailable')),
  reason text, workspace_manifest text, home_manifest text, digest text, blobs text[] not null default '{}',
  exports text, trials smallint not null default 0,
  created_at timestamptz not null, claim uuid, claimed_until timestamptz, used_at timestamptz not null,
  unique (organization_id, environment_id, revision, variant),
  foreign key (organization_id, environment_id, revision) references environment_revisions,
  check (state not in ('sealed', 'ready')
    or (workspace_manifest is not null and home_manifest is not null and digest is not null))
);
comment on table environment_images is 'Workspace and home as setup left them, sealed into blobs like a checkpoint.';
comment on column environment_images.variant is 'Digest of the rest that decides it: repository and commit, owner, platform.';
comment on column environment_images.state is '`building` while it is claimed, then anybody may; `sealed` until started once.';
comment on column environment_images.reason is 'Why there is none.';
comment on column environment_images.digest is 'Names the pair of trees on every host.';
comment on column environment_images.exports is 'Variables that setup exported to the agent, sealed by the master key, base64.';
comment on column environment_images.trials is 'Starts from a sealed image in vain. One that never starts is not offered.';
create index environment_images_sealed on environment_images (claimed_until) where state = 'sealed';
create unique index environment_images_claimed on environment_images (claim) where claim is not null;
create index environment_images_used on environment_images (used_at);

create table environment_hosts (
  organization_id uuid not null, environment_id uuid not null, host text not null,
  allowed_in uuid not null, decided_by_kind text not null, decided_by_id uuid not null, decided_at timestamptz not null,
  accepted boolean not null default false,
  primary key (organization_id, environment_id, host), foreign key (organization_id, environment_id) references environments
);
comment on table environment_hosts is 'Hosts that people allowed for an environment that asks. They hold at once for its Sessions, '
  'and are proposed to whoever writes the document.';
comment on column environment_hosts.allowed_in is 'In which Session it was allowed, which may be purged since.';
comment on column environment_hosts.accepted is 'The newest document names it. The row stays for leases of earlier revisions.';

-- Sessions. Ids are the caller's and unique per organization only, so the keys below start with the organization.

create table sessions (
  organization_id uuid not null references organizations, id uuid not null,
  owner_kind text not null check (owner_kind in ('app_installation', 'person')),
  owner_id uuid not null, initiated_by uuid references people, request_hash bytea not null,
  title text not null, title_is_derived boolean not null default false, model text, effort text, runtime text,
  origin jsonb, trigger_id uuid, source jsonb, source_lost_at timestamptz,
  environment_id uuid, environment_revision integer, parent_session_id uuid, parent_run_id uuid, forked_recap text,
  is_trial boolean not null default false,
  turn_count integer not null default 0, fresh_from_turn integer not null default 0, sealed_turns integer,
  last_event_sequence bigint not null default 0, secrets_version bigint not null default 0,
  log_digest bytea, chain_begins bigint,
  moved_in bigint not null default (pg_current_xact_id()::text::bigint >> 12),
  created_at timestamptz not null, updated_at timestamptz not null,
  listed_at timestamp not null generated always as (date_trunc('second', updated_at at time zone 'UTC')) stored,
  first_run_started_at timestamptz, archived_at timestamptz,
  plan jsonb, background jsonb, log_sealed boolean not null default false,
  primary key (organization_id, id), foreign key (organization_id, environment_id) references environments,
  check ((parent_session_id is null) = (parent_run_id is null))
) with (fillfactor = 50);
comment on column sessions.initiated_by is 'The person who asked for a Session that the service''s own installation owns.';
comment on column sessions.trigger_id is 'The trigger that made it, which may be gone. A caller writes what it likes into `origin`.';
comment on column sessions.title_is_derived is 'Nobody has given the title: the agent may give a better one, once.';
comment on column sessions.source is 'A repository, pinned. Whatever it shows is fixed at the Session''s creation.';
comment on column sessions.source_lost_at is 'The host would not give the source to a restore any more.';
comment on column sessions.environment_revision is 'The last that was applied: a Session is bound to no revision.';
comment on column sessions.parent_session_id is 'Where a fork comes from: that Session may be purged since.';
comment on column sessions.forked_recap is 'The conversation before the fork, for an agent that cannot load it.';
comment on column sessions.is_trial is 'Of a trial of an environment or of a verification: nobody sees it, and it is archived with that.';
comment on column sessions.fresh_from_turn is 'Of a reset: nothing of the Turns before this one is gone on from.';
comment on column sessions.sealed_turns is '`turn_count` at the time when the Run of the newest Turn had an intact checkpoint. '
  'While the two are equal, the Session''s work cannot be lost, so lists judge the others only.';
comment on column sessions.secrets_version is 'Names the rows of `session_secrets`: an append proves by it that it has masked '
  'all of them. 0 is a Session whose sandboxes know none, which costs its appends no statement. Random and no count, so that '
  'no version which was rolled back comes again with other secrets.';
comment on column sessions.log_digest is 'Of the whole log since `chain_begins`: see `chain_events`. Null before the first Event, and '
  'of a log that nothing was appended to since logs are chained.';
comment on column sessions.moved_in is 'In which transaction it changed last, for the feed of changes: dates cannot order '
  'whatever is dated before it is committed. Kept in steps of 4096: while it stands still, an append leaves the row on its '
  'page and writes to no index.';
comment on column sessions.listed_at is 'The second of `updated_at`, for the lists'' indexes. Every append moves `updated_at`; '
  'were that indexed, every append would write to each of them. Within a second the index stands still and the update stays on '
  'its page (1.5 x).';
comment on column sessions.plan is 'The to-do list of the agent, as the newest `svc.plan.updated` tells it.';
comment on column sessions.background is 'The agent''s commands that go on in a sandbox, and its lease: with another lease they are gone.';
comment on column sessions.log_sealed is 'Whether its log lies in the blob store: see `event_pages`.';
create index sessions_of_owner on sessions (organization_id, owner_id, listed_at desc) where archived_at is null;
create index sessions_archived on sessions (organization_id, owner_id, listed_at desc) where archived_at is not null;
create index sessions_of_organization on sessions (organization_id, listed_at desc) where archived_at is null;
create index sessions_archived_of_organization on sessions (organization_id, listed_at desc) where archived_at is not null;
create index sessions_by_origin on sessions (organization_id, (origin ->> 'objectId')) where origin is not null;
create index sessions_source_lost on sessions (owner_id) where source_lost_at is not null;
create index sessions_moved on sessions (organization_id, owner_id, moved_in);
create index sessions_moved_in_organization on sessions (organization_id, moved_in);
comment on index sessions_moved_in_organization is 'The feed of people, who see the Sessions of every owner. An append writes '
  'to it no more often than to `sessions_moved`.';
create index sessions_archived_since on sessions (archived_at) where archived_at is not null;
comment on index sessions_archived_since is 'Sessions that may be purged.';
create index sessions_of_trials on sessions (archived_at) where is_trial and archived_at is not null;
create index sessions_to_seal on sessions (archived_at, id) where archived_at is not null and not log_sealed;

create table purged_sessions (
  organization_id uuid not null, id uuid not null, purged_at timestamptz not null, primary key (organization_id, id)
);
comment on table purged_sessions is 'Their rows are gone: a caller that still repeats its first request must not make one anew.';

create table session_secrets (
  organization_id uuid not null, session_id uuid not null,
  source text not null check (source in ('runtime', 'environment')),
  digest bytea not null, sealed bytea not null, created_at timestamptz not null,
  primary key (organization_id, session_id, source, digest), foreign key (organization_id, session_id) references sessions
);
comment on table session_secrets is 'Secrets that the sandboxes of a Session may know, so that every process that appends to '
  'its log masks them. Rows are only ever added: a log may still tell of those that an earlier sandbox knew.';
comment on column session_secrets.digest is 'Of the value, under the master key: the same value is kept once.';

create table session_tokens (
  organization_id uuid not null, session_id uuid not null, digest bytea not null, sealed bytea not null,
  created_at timestamptz not null,
  primary key (organization_id, session_id, digest), foreign key (organization_id, session_id) references sessions
);
comment on table session_tokens is 'Tokens of Git hosts that a Session''s sandboxes were given. The log masks them by their '
  'form; whatever leaves a sandbox (a cache, an image, a Publication) is searched for them. A row is forgotten once its token '
  'has ended.';

create table environment_trials (
  organization_id uuid not null, session_id uuid not null,
  expires_at timestamptz not null, watched_until timestamptz not null, ended_at timestamptz,
  outcome text check (outcome in ('succeeded', 'failed', 'asked', 'unwatched', 'overdue')),
  primary key (organization_id, session_id), foreign key (organization_id, session_id) references sessions,
  check ((ended_at is null) = (outcome is null))
);
comment on column environment_trials.expires_at is 'It is stopped then in any case.';
comment on column environment_trials.watched_until is 'It is stopped then if nobody has read or followed it since.';
create index environment_trials_live on environment_trials (organization_id) where ended_at is null;

-- The log. The service's role appends Events and may neither change nor delete them: the functions here do, with the rights
-- of the tables' owner. The triggers guard a deployment whose one role owns everything, and the owner of any from a mistake.

create table events (
  organization_id uuid not null, session_id uuid not null,
  sequence bigint not null check (sequence >= 1),
  run_id uuid, type text not null, envelope text not null, digest bytea,
  primary key (organization_id, session_id, sequence)
);
comment on table events is 'No foreign key: the append updates the Session''s row in the same statement; a check costs a lookup.';
comment on column events.envelope is 'Serialised once, at append, and only ever copied.';
comment on column events.digest is 'Of the log up to this Event. An append writes one, on the last of its Events.';
create function chain_events(prior bytea, envelopes text[]) returns bytea language plpgsql immutable as $$
declare envelope text;
begin
  foreach envelope in array envelopes loop prior := sha256(prior || convert_to(envelope, 'UTF8')); end loop;
  return prior;
end $$;
comment on function chain_events is 'The digest of a log after these Events: each is hashed behind the digest before it.';
create function chain_seed(of_session uuid, first bigint) returns bytea language sql immutable as $$
  select sha256(convert_to('berth log ' || of_session || ' from ' || first, 'UTF8'))
$$;
comment on function chain_seed is 'What stands before the first Event of a chain, so that it is that of one log from one place.';
create function refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and (
    current_setting('berth.purging', true) = old.session_id::text
    or exists (
      select from event_pages p
      where p.organization_id = old.organization_id and p.session_id = old.session_id
        and old.sequence between p.first_sequence and p.last_sequence))
  then
    return old;
  end if;
  raise exception 'events are append-only' using errcode = 'restrict_violation';
end $$;
comment on function refuse_change is 'An Event may go with its whole log, or once a page has it.';
create trigger events_are_immutable before update or delete on events for each row execute function refuse_change();
create trigger events_are_kept before truncate on events for each statement execute function refuse_change();

create table event_pages (
  organization_id uuid not null, session_id uuid not null,
  first_sequence bigint not null check (first_sequence >= 1),
  last_sequence bigint not null check (last_sequence >= first_sequence),
  sha256 text not null, size_bytes bigint not null, text_sha256 text not null, sealed_at timestamptz not null,
  digest bytea, primary key (organization_id, session_id, last_sequence)
);
comment on table event_pages is 'Stretches of logs of archived Sessions that lie in the blob store instead of in rows of '
  '`events`. They begin with the first Event and leave no gap. The newest Event of a log stays a row, so an empty answer of '
  '`events` still means that there is nothing newer, and an answer that begins later than asked means that the Events before '
  'it are here.';
comment on column event_pages.sha256 is 'The blob: the envelopes, one a line, compressed.';
comment on column event_pages.text_sha256 is 'The same without compression.';
comment on column event_pages.digest is 'Of the log up to its last Event, which no row says any more. Null before the chain begins.';
create function refuse_page_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('berth.purging', true) = old.session_id::text then return old; end if;
  raise exception 'pages of events are immutable' using errcode = 'restrict_violation';
end $$;
create trigger event_pages_are_immutable before update or delete on event_pages
  for each row execute function refuse_page_change();
create trigger event_pages_are_kept before truncate on event_pages for each statement execute function refuse_page_change();

create function log_digest_at(of_organization uuid, of_session uuid, upto bigint) returns bytea language sql stable as $$
  with known as (
    (select e.sequence, e.digest from events e
      where e.organization_id = of_organization and e.session_id = of_session and e.sequence <= upto and e.digest is not null
      order by e.sequence desc limit 1)
    union all
    (select p.last_sequence, p.digest from event_pages p
      where p.organization_id = of_organization and p.session_id = of_session and p.last_sequence <= upto
        and p.digest is not null
      order by p.last_sequence desc limit 1)
    union all
    select s.chain_begins - 1, chain_seed(s.id, s.chain_begins) from sessions s
      where s.organization_id = of_organization and s.id = of_session and s.chain_begins - 1 <= upto
  ), newest as (select * from known order by sequence desc limit 1), later as (
    select array_agg(e.envelope order by e.sequence) as envelopes from newest n, events e
      where e.organization_id = of_organization and e.session_id = of_session
        and e.sequence > n.sequence and e.sequence <= upto
  )
  select case
    when upto = n.sequence then n.digest
    when upto = n.sequence + cardinality(l.envelopes) then chain_events(n.digest, l.envelopes)
  end from newest n, later l
$$;
comment on function log_digest_at is 'The digest of a log up to an Event, from the nearest one before it that is stored. '
  'Null before the chain begins, within a sealed page, and where an Event is missing.';

create function seal_events(
  of_organization uuid, of_session uuid, through bigint, blob text, blob_bytes bigint, text_digest text
) returns bigint
language plpgsql security definer set search_path from current as $$
declare newest bigint; first bigint; found_events bigint; found_digest text;
begin
  select s.last_event_sequence into newest from sessions s
    where s.organization_id = of_organization and s.id = of_session and s.archived_at <= now() - interval '1 day'
    for no key update;
  if not found then
    raise exception 'only the log of a session that was archived a day ago can be sealed'
      using errcode = 'restrict_violation';
  end if;
  select coalesce(max(p.last_sequence), 0) + 1 into first from event_pages p
    where p.organization_id = of_organization and p.session_id = of_session;
  if through < first or through >= newest then
    raise exception 'a page goes on from the last one and leaves the newest event'
      using errcode = 'restrict_violation';
  end if;
  select count(*), encode(sha256(convert_to(string_agg(e.envelope, E'\n' order by e.sequence), 'UTF8')), 'hex')
    into found_events, found_digest from events e
    where e.organization_id = of_organization and e.session_id = of_session
      and e.sequence between first and through;
  if found_events <> through - first + 1 or found_digest <> text_digest then
    raise exception 'the page does not hold these events' using errcode = 'restrict_violation';
  end if;
  update webhook_deliveries d set body = e.envelope
    from events e, webhook_endpoints w, installations i
    where i.organization_id = of_organization and w.installation_id = i.id and d.endpoint_id = w.id
      and d.organization_id = of_organization and d.session_id = of_session and d.sequence between first and through
      and e.organization_id = of_organization and e.session_id = of_session and e.sequence = d.sequence;
  insert into event_pages
    (organization_id, session_id, first_sequence, last_sequence, sha256, size_bytes, text_sha256, sealed_at, digest)
    values (of_organization, of_session, first, through, blob, blob_bytes, text_digest, now(),
      log_digest_at(of_organization, of_session, through));
  delete from events e
    where e.organization_id = of_organization and e.session_id = of_session and e.sequence between first and through;
  return found_events;
end $$;
comment on function seal_events is 'Puts a page that is in the blob store in the place of the Events after the last page. It '
  'believes nothing: the Session has been archived for a day, and the digest is that of exactly these Events.';

create function purge_events(of_organization uuid, of_session uuid) returns bigint
language plpgsql security definer set search_path from current as $$
declare purged bigint; sealed bigint;
begin
  perform from sessions s
    where s.organization_id = of_organization and s.id = of_session and s.archived_at <= now() - interval '1 day';
  if not found then
    raise exception 'only the log of a session that was archived a day ago can be purged'
      using errcode = 'restrict_violation';
  end if;
  select coalesce(sum(p.last_sequence - p.first_sequence + 1), 0) into sealed from event_pages p
    where p.organization_id = of_organization and p.session_id = of_session;
  perform set_config('berth.purging', of_session::text, true);
  delete from events e where e.organization_id = of_organization and e.session_id = of_session;
  get diagnostics purged = row_count;
  delete from event_pages p where p.organization_id = of_organization and p.session_id = of_session;
  perform set_config('berth.purging', '', true);
  return purged + sealed;
end $$;
comment on function purge_events is 'Deletes the log of a Session that has been archived for a day at least.';

-- Runs. A Turn is sent to a Session; a Run works it off; one process at a time executes a Session.

create table runs (
  organization_id uuid not null, session_id uuid not null, id uuid not null, turn_id uuid not null,
  status text not null check (status in
    ('queued', 'dispatching', 'running', 'awaiting', 'completed', 'failed', 'cancelled', 'crashed')),
  runtime text, model text, effort text, attempts integer not null default 0, handovers integer not null default 0,
  tool_calls integer not null default 0, turns integer, open_calls jsonb not null default '[]',
  awaiting_since timestamptz, awaited_ms bigint not null default 0,
  event_count integer not null default 0, event_bytes bigint not null default 0, dropped_events integer not null default 0,
  stop_reason text, error_code text,
  usage jsonb, cost_usd numeric, cost_complete boolean, time jsonb,
  result jsonb, output text,
  queued_at timestamptz not null, due_at timestamptz not null, started_at timestamptz,
  cancel_requested_at timestamptz, ended_at timestamptz,
  primary key (organization_id, session_id, id), foreign key (organization_id, session_id) references sessions,
  check ((ended_at is null) = (status in ('queued', 'dispatching', 'running', 'awaiting')))
);
comment on column runs.handovers is 'How often it changed hands since it last made progress; this ends poison work.';
comment on column runs.open_calls is 'Tool calls that its log has begun and not ended, for who ends the Run without its agent.';
comment on column runs.awaited_ms is 'Time in which a Run waits for people is none of its own.';
comment on column runs.event_count is 'Events that its agent has put into the log, counted with the reading that commits them: '
  'a worker that takes over goes on counting from here.';
comment on column runs.dropped_events is 'Left out once the budget was spent; the end of the Run says so.';
comment on column runs.time is 'Milliseconds of models, people, tools and the platform, at its end: usage is summed up later, and '
  'the time of the seal is added once that is over.';
comment on column runs.output is 'It satisfies the Turn''s schema. Text: members keep the order in which the agent gave them.';
comment on column runs.due_at is 'Not claimed before: an attempt that was lost is not started again at once.';
create unique index runs_active on runs (organization_id, session_id) where ended_at is null;
comment on index runs_active is 'The active Run of a Session is this row and nothing else.';
create index runs_queued on runs (due_at) where status = 'queued';
create index runs_queued_of_organization on runs (organization_id, due_at) where status = 'queued';
comment on index runs_queued_of_organization is 'A claim reads from it which organizations wait, and the oldest Runs of each.';
create index runs_cut_short on runs (organization_id, session_id)
  where status in ('failed', 'cancelled', 'crashed') or stop_reason <> 'completed';
create index runs_at_work on runs (organization_id) where status in ('dispatching', 'running');

create table turns (
  organization_id uuid not null, session_id uuid not null, id uuid not null,
  sequence integer not null check (sequence >= 0),
  run_id uuid not null, request_hash bytea not null, message text not null, reply_to text,
  files jsonb not null default '[]', model text, effort text, runtime text, output_schema text,
  author_kind text not null, author_id uuid not null,
  steering text check (steering in ('waiting', 'taken', 'missed')), bring jsonb,
  created_at timestamptz not null,
  primary key (organization_id, session_id, id), unique (organization_id, session_id, sequence),
  foreign key (organization_id, session_id, run_id) references runs
);
comment on column turns.output_schema is 'The schema that its result is to satisfy, as text: see `runs.output`.';
comment on column turns.steering is 'Of a Turn that was to join a Run at work; null for every other Turn.';
comment on column turns.bring is 'Commits that come into the workspace before its agent begins, for a Turn of the service''s own.';
create index turns_steering on turns (organization_id, session_id, run_id) where steering = 'waiting';

create table executions (
  organization_id uuid not null, session_id uuid not null, token bigint not null,
  task text check (task in ('run', 'seal', 'restore')),
  run_id uuid, attempt integer not null, holder text not null,
  acquired_at timestamptz not null, heartbeat_at timestamptz not null, expires_at timestamptz not null,
  primary key (organization_id, session_id), foreign key (organization_id, session_id) references sessions
) with (fillfactor = 50);
comment on table executions is 'The execution fence of a Session. `token` grows by one each time execution changes hands; '
  'every write of a worker locks this row and proves that it still holds the token.';
comment on column executions.task is 'A Run executes, an ended Run is sealed, or a workspace is restored; null: nothing is done.';
comment on column executions.expires_at is '`infinity` for a process with a row in `processes`: the claim lapses with that row.';
create index executions_held on executions (expires_at) where task is not null;
create index executions_of_holder on executions (holder) where task is not null;
comment on index executions_of_holder is 'Time and holder change only with a claim, so it costs no write while that is held.';

create table processes (
  id text primary key, host text not null, roles text[] not null, release text, relay_url text,
  started_at timestamptz not null, heard_at timestamptz not null, heard_since timestamptz not null,
  patience interval not null
) with (fillfactor = 50);
comment on table processes is 'The processes of this database. A process writes its row four times as often as it lapses, and '
  'its claims stand as long as the row does, so holding more costs no further writes. All times are the database''s.';
comment on column processes.relay_url is 'Where other processes reach the sandboxes of the hosts that it holds; null: nowhere.';
comment on column processes.heard_since is 'Since when without a gap. Its own silence makes it no witness of others'' silence.';
comment on column processes.patience is 'The longest silence after which others take over; none once it has stopped.';

create table organization_limits (
  organization_id uuid primary key references organizations, bound_at timestamptz, models text[],
  cost_usd numeric check (cost_usd > 0), own_cost_usd numeric check (own_cost_usd > 0),
  turns integer check (turns > 0), own_turns integer check (own_turns > 0),
  seconds integer check (seconds > 0), own_seconds integer check (own_seconds > 0)
);
comment on table organization_limits is 'What an organization may use, where that is not the deployment''s bound.';
comment on column organization_limits.bound_at is 'Since when it runs on hosts of its own alone; null: it does not.';
comment on column organization_limits.models is 'Catalog ids that it may use; null: all.';
comment on column organization_limits.cost_usd is 'Of one Run, as `turns` and `seconds`. Those of the operator and its own '
  '(`own_`) both hold.';

-- Hosts and leases. A host holds sandboxes; a lease is one sandbox of one Session.

create table hosts (
  id text primary key, organization_id uuid references organizations,
  name text check (char_length(name) between 1 and 100),
  provisioner text check (char_length(provisioner) between 1 and 200),
  token_sha256 bytea,
  admitted_capacity integer check (admitted_capacity > 0), admitted_labels jsonb not null default '{}',
  pool text not null default 'default', driver text, labels jsonb not null default '{}',
  capacity integer check (capacity > 0),
  runtimes text[] not null, packages_fault text,
  epoch bigint not null default 0, connected_to text, refused_protocol text,
  seen_at timestamptz not null, heard_at timestamptz not null default now(), heard_since timestamptz not null default now(),
  patience interval not null default '5 minutes',
  failures integer not null default 0, rests_until timestamptz, rests_because text,
  created_at timestamptz, cordoned_at timestamptz, drained_at timestamptz, removed_at timestamptz
);
comment on table hosts is 'The machines that hold sandboxes: one for each data directory of a worker, and those that dial in.';
comment on column hosts.id is 'Of a pod: its uid.';
comment on column hosts.organization_id is 'The organization that it works for; null: every one.';
comment on column hosts.provisioner is 'The provisioner that made the pod, by cluster and namespace; null for a host that is '
  'no pod. A pod proves itself with a token of its cluster, so it has none of ours.';
comment on column hosts.token_sha256 is 'A host that dials in proves itself with the token; null for one that does not.';
comment on column hosts.admitted_capacity is 'Set by the maker of its token: the most that it may offer. Null: as it says.';
comment on column hosts.admitted_labels is 'Set by the maker of its token: they stand before labels that the host gives itself.';
comment on column hosts.capacity is 'The most sandboxes at a time, as it says; null: no more than its workers ask for.';
comment on column hosts.packages_fault is 'Why it can install no system packages, in words; null if it can.';
comment on column hosts.epoch is 'Counts the connections of a host that dials in. An older one than the newest may do nothing.';
comment on column hosts.connected_to is 'The process with its connection; null: none, or all processes of its machine reach it.';
comment on column hosts.refused_protocol is 'Of a host that dialled last and was refused for it; null once it is connected.';
comment on column hosts.heard_at is 'By the database''s clock: whether a host is gone is not left to clocks that differ.';
comment on column hosts.patience is 'How long another host''s silence may be before this one holds it for gone.';
comment on column hosts.failures is 'In a row, since it last made a sandbox that answered.';
comment on column hosts.rests_until is 'It gets no further sandboxes until then; null: it has not failed since.';
comment on column hosts.created_at is 'When somebody made a token for it; null for a host that does not dial in.';
comment on column hosts.cordoned_at is 'It gets no more sandboxes since then.';
comment on column hosts.drained_at is 'It also gives back those that rest, since then.';
comment on column hosts.removed_at is 'A host that was removed while a process still has its connection must not come back as '
  'one of everybody: its row stays for a while, without a token and cordoned.';
create unique index hosts_by_token on hosts (token_sha256) where token_sha256 is not null;

create table runtime_release_probes (
  installation_id uuid primary key references installations, release_sha text not null, engine_sha256 text not null,
  activated_at timestamptz not null, expires_at timestamptz not null
);
comment on table runtime_release_probes is 'A release that an installation tries in place of the built-in engine, for a time.';
create index runtime_release_probes_expired on runtime_release_probes (expires_at);

create table runtime_release_engines (
  installation_id uuid not null references installations, release_sha text not null, sha256 text not null,
  uploaded_at timestamptz not null, primary key (installation_id, release_sha)
);
comment on table runtime_release_engines is 'Engines that were uploaded for an activation to come.';
create index runtime_release_engines_old on runtime_release_engines (uploaded_at);

create table leases (
  id uuid not null, organization_id uuid not null, session_id uuid not null,
  driver text not null, host text not null, runtime text not null,
  state text not null check (state in ('creating', 'applying', 'attached', 'ended')),
  release_sha text, engine_sha256 text,
  environment_id uuid, environment_revision integer, environment_secrets jsonb, secrets_left_out text[] not null default '{}', apply jsonb,
  never_hosts text[] not null default '{}', image_digest text, tree text, package_layer text, brought jsonb, merging jsonb,
  journal_offset bigint not null default 0, replay_from bigint not null default 0,
  agent_generation integer not null default 0, agent_state text not null default 'none'
    check (agent_state in ('none', 'started', 'initialized', 'loaded', 'ready', 'exited')),
  agent_loads_sessions boolean not null default false, agent_mcp text[] not null default '{}',
  agent_session_id text, agent_model text, agent_effort text, active_prompt text, recap text,
  created_at timestamptz not null, bound_at timestamptz not null, attached_at timestamptz,
  expires_at timestamptz not null, idle_ms bigint not null,
  ended_at timestamptz, end_reason text check (end_reason in ('expired', 'lost', 'archived', 'abandoned')),
  primary key (id, session_id), foreign key (organization_id, session_id) references sessions,
  foreign key (organization_id, environment_id, environment_revision) references environment_revisions,
  check ((ended_at is null) = (state <> 'ended')),
  check ((release_sha is null) = (engine_sha256 is null)), check ((environment_id is null) = (environment_revision is null)),
  check (apply is null or environment_id is not null), check (state <> 'applying' or apply is not null)
);
comment on table leases is 'The row is written before the sandbox is made and outlives it.';
comment on column leases.release_sha is 'The engine that a sandbox runs is settled when its row is written.';
comment on column leases.environment_revision is 'The newest of its Session''s environment when the row was written.';
comment on column leases.environment_secrets is '[{"name", "digest", "egress"}]: the values are in `session_secrets`. Null with an '
  'environment: the master key opened none.';
comment on column leases.secrets_left_out is 'Names of secrets that the organization keeps for other environments.';
comment on column leases.never_hosts is 'Hosts that the organization had closed to its sandboxes when the row was written.';
comment on column leases.apply is 'How far the environment is applied, in state `applying`: a worker that takes over goes on '
  'with the same processes. Null until that begins, and without an environment.';
comment on column leases.image_digest is 'It started from this image. Its host keeps trees and layer while the lease lives.';
comment on column leases.tree is 'Name of the checkout that its host keeps for it while it lives; null: it has none.';
comment on column leases.brought is 'Commits that its workspace holds besides the pinned one; null: none.';
comment on column leases.merging is 'A merge whose files may be half written: whoever goes on places it again.';
comment on column leases.journal_offset is 'Everything before it in the sandbox''s journal is committed to the log.';
comment on column leases.replay_from is 'Whoever attaches reads from here: the oldest message or call still open began here.';
comment on column leases.agent_state is '`loaded`: it has loaded a conversation and may still be repeating it.';
comment on column leases.agent_mcp is 'The transports of MCP servers that the agent has advertised besides stdio: a worker '
  'that takes over between its `initialize` and its session gives it the same servers.';
comment on column leases.agent_model is 'The model that the agent''s process was started for, where its variables name one.';
create unique index leases_live on leases (organization_id, session_id) where ended_at is null;
create index leases_of_session on leases (organization_id, session_id, created_at desc);
create index leases_due on leases (expires_at) where ended_at is null;
create index leases_of_host on leases (host) where ended_at is null;
create index leases_engine on leases (engine_sha256) where engine_sha256 is not null and ended_at is null;
create index leases_environment on leases (organization_id, environment_id) where environment_id is not null and ended_at is null;

create table interactions (
  organization_id uuid not null, session_id uuid not null, id text not null, run_id uuid not null,
  kind text not null check (kind in ('ask_user', 'exit_plan_mode', 'approval')),
  status text not null check (status in ('open', 'resolved', 'expired')),
  request text not null, resolution text,
  lease_id uuid not null, journal_offset bigint not null, agent_request text not null,
  request_id text, deadline timestamptz, budget_id uuid, destination text,
  choice text check (choice in ('allow_once', 'allow_turn', 'allow_chat', 'allow_project', 'deny')),
  decided_by_kind text, decided_by_id uuid, idempotency_key text, response_turn_id uuid, answer text,
  opened_at timestamptz not null, ended_at timestamptz, delivered_at timestamptz,
  primary key (organization_id, session_id, id), foreign key (organization_id, session_id, run_id) references runs,
  foreign key (lease_id, session_id) references leases, check ((status = 'open') = (ended_at is null)),
  check ((kind = 'approval') = (request_id is not null)), check (destination is null or kind = 'approval')
);
comment on table interactions is 'Questions of agents to people. The request stands in the journal of the lease; this row is '
  'written with the reading of it, and whichever worker reads the lease gives the answer and notes that the journal has it.';
comment on column interactions.request is 'As it is shown: cleaned and within bounds.';
comment on column interactions.journal_offset is 'Where the agent asked. It may use a JSON-RPC id twice, an offset it cannot.';
comment on column interactions.agent_request is 'Its answer is made of this.';
comment on column interactions.budget_id is 'The platform asks, not the agent: this budget is reached. It is in no journal, and '
  'its offset is negative.';
comment on column interactions.destination is 'The platform asks, not the agent: a program wants to reach this `host:port`. It is in '
  'no journal, and its offset is negative. `delivered_at` says when the first connection used the decision.';
comment on column interactions.request_id is 'Approvals only: a decision names it. After `deadline` there can be none.';
comment on column interactions.decided_by_kind is 'Null for decisions of rules.';
create unique index interactions_of_lease on interactions (lease_id, journal_offset, session_id);
create index interactions_open on interactions (organization_id, session_id, opened_at) where status = 'open';
create index interactions_due on interactions (deadline) where status = 'open';
create index interactions_undelivered on interactions (lease_id) where delivered_at is null;
create index interactions_of_hosts on interactions (organization_id, session_id, run_id, destination, opened_at)
  where destination is not null;

create table remembered_decisions (
  organization_id uuid not null, session_id uuid not null, run_id uuid,
  tool_name text not null, tool_kind text not null, confinement text not null, destination text,
  unique nulls not distinct (organization_id, session_id, run_id, tool_name, tool_kind, confinement, destination),
  foreign key (organization_id, session_id) references sessions
);
comment on table remembered_decisions is 'They answer later requests like their own: within the Run that they name, or in all.';
comment on column remembered_decisions.destination is 'Only of connections that the platform asks about: for this `host:port`.';

create table session_egress (
  organization_id uuid not null, session_id uuid not null, host text not null, port integer not null,
  reached bigint not null, refused bigint not null, sent_bytes bigint not null, received_bytes bigint not null,
  last_reason text, secrets jsonb not null, first_at timestamptz not null, last_at timestamptz not null,
  primary key (organization_id, session_id, host, port), foreign key (organization_id, session_id) references sessions
);
comment on table session_egress is 'The hosts that the sandboxes of a Session reached or were refused. The row of the host '''' '
  'counts those beyond the first 500.';
comment on column session_egress.secrets is 'How often each secret was put into a request to the host: {"NAME": 2}.';

create table secret_uses (
  organization_id uuid not null, session_id uuid not null, secret text not null, host text not null, hour timestamptz not null,
  uses bigint not null, audited bigint not null default 0,
  primary key (organization_id, session_id, secret, host, hour),
  foreign key (organization_id, session_id) references sessions
);
comment on table secret_uses is 'Uses of secrets at the edge that the audit log is to tell, by the hour.';
comment on column secret_uses.audited is 'How many of them the audit log tells already.';
create index secret_uses_to_audit on secret_uses (hour) where audited < uses;

create table terminals (
  id uuid not null, organization_id uuid not null, session_id uuid not null, lease_id uuid not null,
  person_id uuid not null, membership_id uuid not null, sign_in_id uuid not null, console_session_id uuid,
  origin text not null, columns smallint not null, rows smallint not null,
  state text not null check (state in ('requested', 'started', 'ended')),
  end_reason text, end_owed boolean not null default false,
  ticket_digest bytea, ticket_expires_at timestamptz,
  ticket_membership_id uuid, ticket_sign_in_id uuid, ticket_console_session_id uuid, holder_id uuid,
  awake_until timestamptz not null, preview_ends_at timestamptz, typed_at timestamptz, seal_requested_at timestamptz,
  created_at timestamptz not null, ended_at timestamptz,
  primary key (id, session_id), foreign key (organization_id, session_id) references sessions,
  foreign key (lease_id, session_id) references leases, check ((state = 'ended') = (ended_at is not null))
);
comment on table terminals is 'Terminals of people in sandboxes. A row is written before the shell is started, and outlives it '
  'for the audit of the changes that have to be sealed; the chore deletes old ones.';
comment on column terminals.console_session_id is 'The browser that asked; null for a bearer.';
comment on column terminals.origin is 'Where the page comes from that may connect.';
comment on column terminals.end_owed is 'The shell may still run: its supervisor has not answered the order to end it.';
comment on column terminals.ticket_sign_in_id is 'Whoever asks for a ticket takes a terminal over only with that ticket. Until '
  'then the terminal ends with the sign-in of whoever looks at it.';
comment on column terminals.holder_id is 'Made when a ticket is taken: the page that has the terminal.';
comment on column terminals.awake_until is 'The sandbox is kept running until then.';
comment on column terminals.preview_ends_at is 'The terminal is a preview, which needs nobody to look at it; it is ended then.';
comment on column terminals.seal_requested_at is 'When a worker was last asked to seal the changes that were made here.';
create index terminals_live on terminals (lease_id) where ended_at is null;
create index terminals_unsealed on terminals (lease_id) where typed_at is not null;
create index terminals_end_owed on terminals (lease_id) where end_owed;

create table workspace_requests (
  organization_id uuid not null, session_id uuid not null,
  requested_at timestamptz not null, failed_at timestamptz,
  primary key (organization_id, session_id), foreign key (organization_id, session_id) references sessions
);
comment on table workspace_requests is 'A workspace is wanted back without a Turn. Whoever works it off deletes the row.';
create index workspace_requests_open on workspace_requests (requested_at) where failed_at is null;

-- Checkpoints and artifacts.

create table checkpoints (
  organization_id uuid not null, session_id uuid not null, run_id uuid not null, runtime text not null,
  conversation text not null check (conversation in ('exact', 'result_only')),
  agent_session_id text, workspace_manifest text not null, home_manifest text,
  stored_bytes bigint not null, blobs text[] not null, brought jsonb,
  sealed_at timestamptz not null, damaged_at timestamptz,
  primary key (organization_id, session_id, run_id), foreign key (organization_id, session_id, run_id) references runs
);
comment on table checkpoints is 'A Run''s state, sealed: enough for a fresh sandbox. Lists are blobs that the manifests name.';
comment on column checkpoints.conversation is 'How the agent''s own conversation was kept: whole, or by the transcript only.';
comment on column checkpoints.blobs is 'For the garbage collection: a blob that no row names is swept.';
comment on column checkpoints.brought is 'As `leases.brought` was: its files hold those commits.';
comment on column checkpoints.damaged_at is 'A restore found another digest than the manifest says; it is never offered again.';

create table artifacts (
  organization_id uuid not null, session_id uuid not null, id uuid not null, run_id uuid,
  kind text not null check (kind in ('run_result', 'presented_file', 'pull_request_record', 'check_output', 'statement')),
  name text not null, media_type text not null,
  size_bytes bigint not null check (size_bytes >= 0),
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  position bigint generated always as identity,
  created_at timestamptz not null,
  primary key (organization_id, session_id, id), foreign key (organization_id, session_id) references sessions
);
comment on table artifacts is 'Immutable; the bytes are blobs named by their digest.';
create index artifacts_in_order on artifacts (organization_id, session_id, position);

-- Repositories.

create table host_connections (
  id uuid primary key, organization_id uuid not null references organizations,
  installation_id uuid not null references installations,
  host text not null, provider text not null, account text not null, account_login text not null,
  whole boolean not null, personal boolean not null default false,
  created_at timestamptz not null, revoked_at timestamptz
);
comment on table host_connections is 'An account at a Git host that an installation may use, whole or repository by repository.';
comment on column host_connections.whole is 'All repositories of the account are granted as they are seen, else named ones.';
comment on column host_connections.personal is 'Only people whose own account reaches a repository may use it through this one.';
create unique index host_connections_live on host_connections (installation_id, host, account) where revoked_at is null;

create table repository_grants (
  id uuid primary key, connection_id uuid not null references host_connections,
  organization_id uuid not null references organizations, installation_id uuid not null references installations,
  repository_id text not null check (repository_id ~ '^[0-9]{1,20}$'),
  full_name text not null,
  created_at timestamptz not null, revoked_at timestamptz,
  replaced_by uuid references repository_grants,
  check (revoked_at is null or replaced_by is null)
);
comment on column repository_grants.full_name is 'As it was called when it was last seen.';
create unique index repository_grants_live on repository_grants (connection_id, repository_id)
  where revoked_at is null and replaced_by is null;
create index repository_grants_of_installation on repository_grants (installation_id, created_at desc, id desc);

create table host_people (
  id uuid primary key, person_id uuid not null references people,
  host text not null, provider text not null, account text not null, login text not null, tokens bytea,
  created_at timestamptz not null, renew_at timestamptz, claim uuid, claimed_until timestamptz
);
comment on table host_people is 'Accounts of people at Git hosts, who let the service act for them there.';
comment on column host_people.account is 'The host''s id of the account.';
comment on column host_people.tokens is 'The tokens as JSON, sealed for this row. Null: the host no longer takes them.';
comment on column host_people.renew_at is 'The tokens are asked to be renewed from then on. Null: they do not end by themselves.';
comment on column host_people.claim is 'Of the process that renews them: a token for renewal works once.';
create unique index host_people_of_person on host_people (person_id, host);
create unique index host_people_claimed on host_people (claim) where claim is not null;

create table local_repositories (
  id bigint generated always as identity primary key,
  owner text not null, name text not null,
  unique (owner, name)
);
comment on table local_repositories is 'Repositories of the data directory: ids for paths. Git does not know the rest.';

create table local_branch_rules (
  repository_id bigint not null references local_repositories, branch text not null, required_checks text[] not null,
  primary key (repository_id, branch)
);

create table local_checks (
  repository_id bigint not null references local_repositories, commit_oid text not null, name text not null,
  state text not null check (state in ('pending', 'success', 'failure')), output text,
  updated_at timestamptz not null, primary key (repository_id, commit_oid, name)
);

create table local_pulls (
  repository_id bigint not null references local_repositories, number integer not null,
  title text not null, body text not null, draft boolean not null,
  state text not null check (state in ('open', 'merged', 'closed')),
  head_branch text not null, base_branch text not null, head_oid text not null, merge_commit_oid text,
  merge_intents jsonb not null default '{}', created_at timestamptz not null, primary key (repository_id, number)
);
comment on column local_pulls.merge_intents is '{commit: head}: where merges were about to bring the base. The one that is in '
  'the base was merged.';
create unique index local_pulls_open on local_pulls (repository_id, head_branch, base_branch) where state = 'open';

create table local_reviews (
  repository_id bigint not null, number integer not null, id uuid not null,
  position bigint generated always as identity, author_id text not null, author_name text not null,
  written_by text not null check (written_by in ('person', 'app_installation', 'service')),
  state text not null check (state in ('approved', 'changes_requested', 'commented')),
  body text not null, comments jsonb not null, head_oid text not null, created_at timestamptz not null,
  primary key (repository_id, number, id), foreign key (repository_id, number) references local_pulls
);
comment on table local_reviews is 'Reviews of pull requests of local repositories, and comments: each is a review.';
comment on column local_reviews.comments is '[{id, threadId, path, line, body}]: on lines of the head of that time.';

-- Delivery. A review is asked for, published to a branch or a pull request, and merged. Each step is recorded before it is
-- taken; the claim is proven by every write.

create table reviews (
  organization_id uuid not null, session_id uuid not null,
  revision text not null check (revision ~ '^[0-9a-f]{64}$'),
  base_oid text not null, base_tree text not null, head_tree text not null, target_branch text not null,
  document_sha256 text not null, pack_sha256 text, pack_dropped_at timestamptz, files_sha256 text, created_at timestamptz not null,
  files integer not null default 0, additions integer not null default 0, deletions integer not null default 0,
  primary key (organization_id, session_id, revision), foreign key (organization_id, session_id) references sessions
);
comment on table reviews is 'The difference of a workspace from its base, for good.';
comment on column reviews.pack_sha256 is 'The objects that the base lacks, so that a delivery needs nothing else; null if none.';
comment on column reviews.pack_dropped_at is 'When a superseded revision gave its objects up: it is read for ever, and not delivered.';
comment on column reviews.files_sha256 is 'Every changed file with its unchanged lines, so that a reader needs no sandbox and '
  'no Git host. Null until the worker that made the review has stored it.';

create table review_requests (
  organization_id uuid not null, session_id uuid not null, tickets bigint not null, answered bigint not null default 0,
  revision text, announced text, failure text, failure_message text,
  claim uuid, claimed_until timestamptz,
  primary key (organization_id, session_id), foreign key (organization_id, session_id) references sessions
);
comment on table review_requests is 'Somebody wants a review of the Session''s workspace. Each caller takes the next ticket; '
  'whoever works it off answers all tickets that were out before it began to look, with one revision or with a failure.';
comment on column review_requests.revision is 'The newest revision: of an answer, or of the end of a Run.';
comment on column review_requests.announced is 'The revision of the newest Event: a Run that ends with the same tree has none.';
comment on column review_requests.failure_message is 'The path that git cannot take, or the bound that the changes go over.';
create index review_requests_open on review_requests (session_id) where answered < tickets;
create unique index review_requests_of_claim on review_requests (claim, session_id) where claim is not null;

create table publications (
  organization_id uuid not null, session_id uuid not null, id uuid not null, request_hash bytea not null,
  revision text not null, title text not null, body text not null,
  delivery text not null check (delivery in ('pull_request', 'direct_branch')),
  branch text not null, draft boolean not null,
  status text not null check (status in ('admitted', 'prepared', 'attempted', 'succeeded', 'failed')),
  author jsonb, commit_object text, commit_sha text, parent_oid text, moves_from text,
  requested_by_kind text, requested_by_id uuid, verification_id uuid, statement_id uuid,
  opening boolean not null default false, result jsonb, error_code text, obstacle jsonb, follow_up jsonb,
  failures integer not null default 0, due_at timestamptz not null, claim uuid, claimed_until timestamptz,
  created_at timestamptz not null, updated_at timestamptz not null, ended_at timestamptz,
  primary key (organization_id, session_id, id), foreign key (organization_id, session_id, revision) references reviews,
  check ((ended_at is not null) = (status in ('succeeded', 'failed')))
);
comment on column publications.author is 'The person who asked, until it ends.';
comment on column publications.commit_object is 'The whole commit, until it ends: a signature differs each time that it is '
  'made, and a repeat must push the same commit.';
comment on column publications.moves_from is 'Where the branch stood before; null for a branch that was not there.';
comment on column publications.verification_id is 'The passed verification that stood when it was asked for; its end is signed.';
comment on column publications.statement_id is 'The Artifact with the signed statement.';
comment on column publications.opening is 'No pull request of the branch was open before: one that is found later is ours.';
comment on column publications.obstacle is 'The branch that was in the way of a failed one, and a name that is free.';
comment on column publications.follow_up is 'Asked for with it, with who asked: it begins once the pull request is there.';
create index publications_in_order on publications (organization_id, session_id, created_at desc, id desc);
create index publications_open on publications (organization_id, session_id, created_at) where ended_at is null;
create index publications_due on publications (due_at) where ended_at is null;
create index publications_of_pull on publications (organization_id, (result -> 'pullRequest' ->> 'number'))
  where result is not null;
comment on index publications_of_pull is 'People read a pull request because they see the Session that published it.';
create index publications_with_pull on publications (organization_id, created_at desc, id desc)
  where result -> 'pullRequest' is not null;
create index publications_of_commit on publications (organization_id, commit_sha) where statement_id is not null;
comment on index publications_of_commit is 'Whoever has a commit finds its statement.';
create unique index publications_of_claim on publications (claim, session_id) where claim is not null;

create table verifications (
  organization_id uuid not null, session_id uuid not null, id uuid not null, request_hash bytea not null,
  revision text not null, tree text not null, environment_id uuid not null, environment_revision integer not null,
  state text not null check (state in ('queued', 'running', 'passed', 'failed', 'errored', 'cancelled')),
  checks_digest text not null, results jsonb not null default '[]', error jsonb, reused_from uuid, sandbox_id uuid, lease_id uuid,
  requested_by_kind text not null, requested_by_id uuid not null,
  created_at timestamptz not null, started_at timestamptz, ended_at timestamptz,
  primary key (organization_id, session_id, id), foreign key (organization_id, session_id, revision) references reviews,
  check ((ended_at is not null) = (state not in ('queued', 'running')))
);
comment on column verifications.checks_digest is 'Of the checks and of the base, by which their paths are judged.';
comment on column verifications.sandbox_id is 'The hidden Session with its sandbox, which is purged earlier.';
comment on column verifications.lease_id is 'The sandbox that the results are of: another begins again.';
create index verifications_in_order on verifications (organization_id, session_id, created_at desc, id desc);
create index verifications_open on verifications (organization_id, session_id) where ended_at is null;
create unique index verifications_of_sandbox on verifications (organization_id, sandbox_id) where sandbox_id is not null;

create table merges (
  organization_id uuid not null, session_id uuid not null, publication_id uuid not null, id uuid not null,
  request_hash bytea not null,
  strategy text not null check (strategy in ('merge', 'squash', 'rebase')),
  mode text not null check (mode in ('immediate', 'when_ready')),
  commit_title text, commit_message text, pull_number integer not null, head_sha text not null,
  status text not null check (status in ('admitted', 'attempted', 'waiting', 'succeeded', 'failed')),
  merged_commit_sha text, error_code text, attempts integer not null default 0,
  failures integer not null default 0, due_at timestamptz not null, claim uuid, claimed_until timestamptz,
  created_at timestamptz not null, updated_at timestamptz not null, ended_at timestamptz,
  primary key (organization_id, session_id, publication_id, id),
  foreign key (organization_id, session_id, publication_id) references publications,
  check ((ended_at is not null) = (status in ('succeeded', 'failed')))
);
create index merges_in_order on merges (organization_id, session_id, publication_id, created_at desc, id desc);
create index merges_open on merges (organization_id, session_id) where ended_at is null;
create index merges_due on merges (due_at) where ended_at is null;
create unique index merges_of_claim on merges (claim, session_id) where claim is not null;

create table follow_ups (
  organization_id uuid not null, session_id uuid not null, publication_id uuid not null,
  pull_number integer not null, pull_url text not null, pull_title text not null,
  pull_state text not null check (pull_state in ('open', 'draft', 'merged', 'closed')),
  state text not null check (state in ('watching', 'working', 'needs_person', 'merged', 'closed', 'stopped')),
  reason text, awaits text not null default 'host' check (awaits in ('host', 'person')),
  round integer not null default 1, attempts integer not null default 0, max_attempts integer not null,
  budget_usd numeric, spent_usd numeric not null default 0, until timestamptz not null,
  merge text not null check (merge in ('never', 'when_ready')), causes text[] not null, people text[] not null default '{}',
  started_by_kind text not null, started_by_id uuid not null,
  head_sha text, turns jsonb not null default '[]', seen jsonb not null default '[]', marks jsonb not null default '{}',
  cursor text, noted_at timestamptz,
  failures integer not null default 0, due_at timestamptz not null, claim uuid, claimed_until timestamptz,
  created_at timestamptz not null, updated_at timestamptz not null, ended_at timestamptz,
  primary key (organization_id, session_id, publication_id),
  foreign key (organization_id, session_id, publication_id) references publications,
  check ((ended_at is not null) = (state in ('merged', 'closed', 'stopped')))
);
comment on table follow_ups is 'What is done for a pull request until it is merged.';
comment on column follow_ups.publication_id is 'The Publication with which it began.';
comment on column follow_ups.awaits is 'Whose turn it is while it watches.';
comment on column follow_ups.people is 'Logins at the host whose words count beside those of people who may push.';
comment on column follow_ups.round is 'Grows each time that somebody resumes it: attempts, and its last comment, are of a round.';
comment on column follow_ups.turns is 'Its Turns in order, with the key of the event and what became of each.';
comment on column follow_ups.seen is 'Keys of the host''s events, and of failures of a tree, that need no more work, the newest last.';
comment on column follow_ups.marks is 'Labels and assignees of the pull request when the host was read last.';
comment on column follow_ups.cursor is 'The host''s, once nothing of what it has told is left to do.';
comment on column follow_ups.noted_at is 'When the last comment of the round was written, or found to be there.';
create unique index follow_ups_of_pull on follow_ups (organization_id, session_id, pull_number) where ended_at is null;
create index follow_ups_in_order on follow_ups (organization_id, session_id, pull_number, updated_at desc);
create index follow_ups_due on follow_ups (due_at);
comment on index follow_ups_due is 'One that has ended is due only for its last comment.';
create unique index follow_ups_of_claim on follow_ups (claim, session_id) where claim is not null;

-- Webhooks.

create table webhook_endpoints (
  id uuid primary key, installation_id uuid not null references installations,
  url text not null, families text[] not null, sealed_secret bytea not null,
  created_at timestamptz not null, last_success_at timestamptz,
  last_failure_at timestamptz, last_failure_status integer, last_failure_error text,
  failures integer not null default 0
);
comment on table webhook_endpoints is 'Where apps get Events of an installation''s Sessions. The sealed secret signs deliveries.';
comment on column webhook_endpoints.failures is 'Failed attempts since the last success, of all deliveries.';
create index webhook_endpoints_of_installation on webhook_endpoints (installation_id, created_at);

create table webhook_deliveries (
  id uuid primary key default gen_random_uuid(),
  endpoint_id uuid not null,
  position bigint not null generated always as identity,
  organization_id uuid not null, session_id uuid, sequence bigint, body text,
  status text not null default 'pending' check (status in ('pending', 'succeeded', 'failed')),
  tries integer not null default 0, lapses integer not null default 0, attempts jsonb not null default '[]',
  due_at timestamptz not null default '-infinity', holder uuid, claim uuid, claimed_until timestamptz,
  created_at timestamptz not null, ended_at timestamptz,
  check ((ended_at is not null) = (status <> 'pending')),
  check ((body is not null or sequence is not null) and (session_id is null) = (sequence is null))
);
comment on table webhook_deliveries is 'One Event on its way to one endpoint, written in the transaction that appends the '
  'Event. Nothing refers to the endpoint: the append would lock its row. A delivery whose endpoint is gone is never claimed.';
comment on column webhook_deliveries.position is 'Within a Session in the order of sequences: both are taken under its lock.';
comment on column webhook_deliveries.body is 'Of a ping, and of an Event that was sealed since; else null: joined from the log.';
comment on column webhook_deliveries.tries is 'Attempts that count against the limit; all of them are in `attempts`.';
comment on column webhook_deliveries.lapses is 'Claims that lapsed because their process died.';
comment on column webhook_deliveries.due_at is 'A first attempt is due at once, whatever the clocks of the processes say.';
create unique index webhook_deliveries_of_event on webhook_deliveries (endpoint_id, session_id, sequence);
create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at, position) where status = 'pending';
create index webhook_deliveries_in_order on webhook_deliveries (endpoint_id, created_at desc, id desc);
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
create unique index webhook_deliveries_claimed on webhook_deliveries (claim) where claim is not null;
create index webhook_deliveries_held on webhook_deliveries (endpoint_id) where claim is not null;
comment on index webhook_deliveries_held is 'Every claim counts the deliveries that processes hold of an endpoint. Without '
  'this it reads those of the past 30 days too.';

-- Triggers. Schedules and deliveries of other systems make Sessions of an installation.

create table triggers (
  organization_id uuid not null references organizations, id uuid not null,
  installation_id uuid not null references installations,
  name text not null, message text not null, session jsonb not null, thread text[], enabled boolean not null,
  cron text, time_zone text, due_at timestamptz,
  hook jsonb, hook_id uuid not null default gen_random_uuid(), deliver jsonb,
  secret bytea, previous_secret bytea, previous_until timestamptz,
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (organization_id, id), check ((cron is null) = (time_zone is null)),
  check (due_at is null or (enabled and cron is not null)), check ((previous_secret is null) = (previous_until is null))
);
comment on column triggers.due_at is 'When the schedule fires next; null without one, or while the trigger is off.';
comment on column triggers.hook is 'Other systems post to an address of the trigger and sign whatever they send.';
comment on column triggers.hook_id is 'The last part of the address, as two organizations may have a trigger of the same id.';
comment on column triggers.deliver is 'How the changes of its Runs are published; null: by people.';
create index triggers_of_installation on triggers (organization_id, installation_id);
create index triggers_due on triggers (due_at) where due_at is not null;
create unique index triggers_by_hook on triggers (hook_id);

create table trigger_deliveries (
  organization_id uuid not null, trigger_id uuid not null, key text not null,
  message text not null, is_script boolean, thread text, session_id uuid, signature bytea, event jsonb, head_oid text,
  status text not null check (status in ('waiting', 'admitted', 'refused')),
  error_code text, tries integer not null default 0,
  deliver jsonb, deliver_state text check (deliver_state in
    ('waiting', 'verifying', 'publishing', 'published', 'unchanged', 'failed')), deliver_error text,
  revision text, verification_id uuid, publication_id uuid, publications integer not null default 0,
  created_at timestamptz not null, due_at timestamptz not null, claim uuid, claimed_until timestamptz,
  primary key (organization_id, trigger_id, key), check (deliver_state is null or (deliver is not null and session_id is not null)),
  foreign key (organization_id, trigger_id) references triggers on delete cascade
);
comment on table trigger_deliveries is 'One firing. Its Session''s id follows from trigger and key: many tries make one Session.';
comment on column trigger_deliveries.message is 'Empty once it has ended: by then it stands in its Session, or was refused.';
comment on column trigger_deliveries.is_script is 'Whether the message was made as a script. Text that strangers wrote must '
  'not become one because its trigger has another runtime by the time it is admitted.';
comment on column trigger_deliveries.thread is 'Deliveries of one conversation become Turns of one Session, as they came.';
comment on column trigger_deliveries.session_id is 'Null: the Session follows from the key.';
comment on column trigger_deliveries.signature is 'Of a delivery whose key is not signed: the same again is a replay.';
comment on column trigger_deliveries.event is 'The event of GitHub. The host is asked about it before it makes a Turn.';
comment on column trigger_deliveries.head_oid is 'The commit that the pull request or the check of its event is about.';
comment on column trigger_deliveries.deliver is 'As the trigger had it when the delivery was taken, with its title filled in.';
comment on column trigger_deliveries.deliver_state is 'From its admission on: how far the changes of its Run are published.';
comment on column trigger_deliveries.revision is 'What is published. Settled before it is, so that a second try publishes the same.';
comment on column trigger_deliveries.publications is 'How many Publications have failed because the workspace had moved on; '
  'the id of each follows from the key and this number.';
create index trigger_deliveries_waiting on trigger_deliveries (organization_id, due_at) where status = 'waiting';
comment on index trigger_deliveries_waiting is 'Whoever takes deliveries steps from one organization to the next.';
create index trigger_deliveries_of_thread on trigger_deliveries (organization_id, trigger_id, thread, created_at, key)
  where status = 'waiting' and thread is not null;
create index trigger_deliveries_publishing on trigger_deliveries (due_at)
  where deliver_state in ('waiting', 'verifying', 'publishing');
create index trigger_deliveries_of_session on trigger_deliveries (organization_id, session_id)
  where deliver_state in ('waiting', 'verifying', 'publishing');
create unique index trigger_deliveries_signed on trigger_deliveries (organization_id, trigger_id, signature)
  where signature is not null;
create index trigger_deliveries_latest on trigger_deliveries (organization_id, trigger_id, created_at desc);
create unique index trigger_deliveries_claimed on trigger_deliveries (claim) where claim is not null;
create index trigger_deliveries_ended on trigger_deliveries (created_at) where status <> 'waiting';

create table trigger_reports (
  organization_id uuid not null, trigger_id uuid not null, key text not null,
  session_id uuid not null, run_id uuid not null,
  reported text not null check (reported in ('nothing', 'begun', 'asking', 'ended', 'delivered')),
  comment_id text, comment_url text, comment_error text, check_id text, check_error text,
  failures integer not null default 0, due_at timestamptz not null, claim uuid, claimed_until timestamptz,
  created_at timestamptz not null, ended_at timestamptz,
  primary key (organization_id, trigger_id, key),
  foreign key (organization_id, trigger_id, key) references trigger_deliveries on delete cascade
);
comment on table trigger_reports is 'GitHub is told of a Turn that its event made, by a check run and a comment.';
comment on column trigger_reports.reported is 'How much GitHub knows.';
comment on column trigger_reports.comment_error is 'Why it cannot be written, as `check_error`.';
comment on column trigger_reports.ended_at is 'Nothing more is told.';
create index trigger_reports_open on trigger_reports (due_at) where ended_at is null;
create index trigger_reports_of_session on trigger_reports (organization_id, session_id) where ended_at is null;
create unique index trigger_reports_claimed on trigger_reports (claim) where claim is not null;

-- The AI gateway: who may call it, which models, for how much, and the use that was made of it.

create table runtime_credentials (
  token_sha256 bytea not null, organization_id uuid not null, session_id uuid not null, run_id uuid not null,
  budget_usd numeric check (budget_usd >= 0),
  created_at timestamptz not null,
  primary key (token_sha256, session_id), foreign key (organization_id, session_id, run_id) references runs
);
comment on table runtime_credentials is 'A Run''s agent calls the gateway with it, until the Run ends; only the digest is kept.';
comment on column runtime_credentials.budget_usd is 'US dollars that the Run may spend; null: no bound.';

create table gateway_budgets (
  id uuid primary key, organization_id uuid not null references organizations, api_key_id uuid references api_keys,
  session_id uuid, person_id uuid references people, installation_id uuid references installations,
  set_by text not null default 'operator' check (set_by in ('operator', 'organization')),
  period text not null check (period in ('day', 'month', 'total')),
  limit_usd numeric not null check (limit_usd >= 0), spent_usd numeric not null default 0,
  on_reached text not null default 'refuse' check (on_reached in ('pause', 'refuse')),
  reserved_usd numeric not null default 0, notified_at timestamptz,
  period_started_at timestamptz not null,
  foreign key (organization_id, session_id) references sessions,
  constraint gateway_budgets_of_period unique nulls not distinct
    (organization_id, session_id, api_key_id, person_id, installation_id, period, set_by),
  check (num_nonnulls(session_id, api_key_id, person_id, installation_id) <= 1)
);
comment on table gateway_budgets is 'The most that an organization, or one of its keys, Sessions, people or installations, '
  'spends in each day or month of UTC, or ever.';
comment on column gateway_budgets.on_reached is 'Whether Runs wait for people, or are refused. Everybody else is refused.';
comment on column gateway_budgets.reserved_usd is 'The most that requests of Runs under way may cost, in whatever period they '
  'began. What one still holds when its Run ends is spent: a cost that is not known counts as the most that it may be.';
comment on column gateway_budgets.notified_at is 'When a Session was told that 80 percent of this period''s limit are spent.';
comment on column gateway_budgets.set_by is 'A bound of the organization''s own stays beside its operator''s, and both hold.';
comment on column gateway_budgets.spent_usd is 'Of the period since `period_started_at`; in a later one it counts as nothing.';

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
create function budgets_of(organization uuid, key uuid, session uuid, person uuid, installation uuid)
returns setof gateway_budgets language sql stable as $$
  select b.* from gateway_budgets b
    where b.organization_id = organization and b.session_id is null and (b.api_key_id is null or b.api_key_id = key)
      and (b.person_id is null or b.person_id = person) and (b.installation_id is null or b.installation_id = installation)
  union all
  select b.* from gateway_budgets b where b.organization_id = organization and b.session_id = session
$$;
comment on function budgets_of is 'The budgets that a request counts against. In two parts, since each is on one range of the index.';
create function gateway_allowance(organization uuid, key uuid, session uuid, person uuid, installation uuid, at timestamptz)
returns table (allowed_models text[], quota_ends_at timestamptz, pauses boolean, bounded boolean) language sql stable rows 1 as $$
  select l.models, b.quota_ends_at, coalesce(b.pauses, false), b.bounded
  from (
    select bool_or(session is not null and on_reached = 'pause') as pauses, count(*) > 0 as bounded,
      max(gateway_period_end(period, at)) filter (where (session is null or on_reached = 'refuse')
        and case when period_started_at < gateway_period_start(period, at) then 0 else spent_usd end >= limit_usd)
        as quota_ends_at
    from budgets_of(organization, key, session, person, installation)
  ) b left join organization_limits l on l.organization_id = organization
$$;
comment on function gateway_allowance is 'How much a caller may still use: catalog ids (null: all), when the last spent budget '
  'that refuses it resets (null: none is spent), whether there is one at which its Run, if it is one, waits for people, and '
  'whether any budget counts its requests.';

create table gateway_requests (
  id uuid primary key, organization_id uuid not null references organizations,
  credential_kind text not null check (credential_kind in ('ai_key', 'runtime', 'installation', 'person', 'end_user')),
  api_key_id uuid references api_keys,
  installation_id uuid, person_id uuid, end_user_id text, session_id uuid, run_id uuid,
  wire text not null check (wire in ('chat', 'responses', 'messages', 'generate')),
  provider text not null, model text not null,
  outcome text not null check (outcome in ('open', 'completed', 'failed', 'left')),
  error_code text, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint, output_tokens bigint,
  reasoning_tokens bigint, cost_usd numeric, started_at timestamptz not null, first_token_ms integer, duration_ms integer,
  reserved_usd numeric, reserved_in uuid[] not null default '{}', holder text
);
comment on table gateway_requests is 'One row for each request that reached a provider. A Run''s row is there, `open`, before '
  'the provider answers, so that a gateway that was killed leaves a cost that is known to be unknown.';
comment on column gateway_requests.input_tokens is 'With those that were read from a cache and written to it.';
comment on column gateway_requests.cost_usd is 'Null: not known, as the model has no price or the provider told no usage.';
comment on column gateway_requests.reserved_usd is 'The most that a Run''s request may cost, held in each budget of `reserved_in`.';
comment on column gateway_requests.holder is 'The process that serves a Run''s request: an open one is lost once that has lapsed.';
create index gateway_requests_of_run on gateway_requests (organization_id, session_id, run_id) where run_id is not null;
create index gateway_requests_of_organization on gateway_requests (organization_id, started_at);
create index gateway_requests_of_person on gateway_requests (organization_id, person_id, started_at) where person_id is not null;
create index gateway_requests_by_time on gateway_requests (started_at);

create table gateway_daily_usage (
  organization_id uuid not null references organizations, started_at timestamptz not null,
  credential_kind text not null,
  api_key_id uuid, installation_id uuid, person_id uuid, end_user_id text, session_id uuid, run_id uuid,
  provider text not null, model text not null, requests bigint not null, failed bigint not null,
  input_tokens bigint not null, cached_input_tokens bigint not null, cache_write_tokens bigint not null,
  output_tokens bigint not null, reasoning_tokens bigint not null,
  cost_usd numeric not null, unknown_cost bigint not null,
  unique nulls not distinct (organization_id, started_at, credential_kind, api_key_id, installation_id, person_id,
    end_user_id, session_id, run_id, provider, model)
);
comment on table gateway_daily_usage is 'Requests of long ago, by the day in UTC. Every other dimension of a report stays apart.';
comment on column gateway_daily_usage.started_at is 'The start of the day.';
comment on column gateway_daily_usage.unknown_cost is 'Requests whose cost is not known, and not in the sum.';
create index gateway_daily_usage_of_person on gateway_daily_usage (organization_id, person_id, started_at)
  where person_id is not null;
create index gateway_daily_usage_of_run on gateway_daily_usage (organization_id, session_id, run_id) where run_id is not null;
create index gateway_daily_usage_by_time on gateway_daily_usage (started_at);

create view gateway_usage as
select organization_id, started_at, credential_kind, api_key_id, installation_id, person_id, end_user_id, session_id, run_id,
  provider, model, 1::bigint as requests, (outcome = 'failed')::integer::bigint as failed,
  coalesce(input_tokens, 0) as input_tokens, coalesce(cached_input_tokens, 0) as cached_input_tokens,
  coalesce(cache_write_tokens, 0) as cache_write_tokens, coalesce(output_tokens, 0) as output_tokens, coalesce(reasoning_tokens, 0) as reasoning_tokens,
  coalesce(cost_usd, 0) as cost_usd, (cost_usd is null)::integer::bigint as unknown_cost
from gateway_requests
union all
select organization_id, started_at, credential_kind, api_key_id, installation_id, person_id, end_user_id, session_id, run_id,
  provider, model, requests, failed, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
  reasoning_tokens, cost_usd, unknown_cost
from gateway_daily_usage;
comment on view gateway_usage is 'The whole usage: each request of late, and the sums of those before.';

create function judge_gateway_bearer(
  bearer_kind text, credential bytea, subject uuid, member uuid, sign_in uuid, setup uuid, end_user text,
  address text, at timestamptz, wanted integer,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out granted integer, out remaining double precision, out kind text, out organization_id uuid,
  out capabilities text[], out role text, out cloud_access boolean, out api_key_id uuid, out installation_id uuid,
  out person_id uuid, out end_user_id text, out session_id uuid, out run_id uuid, out allowed_models text[],
  out quota_ends_at timestamptz, out pauses boolean, out bounded boolean, out awaits boolean, out budget_usd numeric, out spent_usd numeric,
  out rate_burst integer, out rate_per_minute integer)
language plpgsql as $$
declare bucket text; authority bearer_authority;
begin
  if bearer_kind = 'runtime' then
    select 'runtime', c.organization_id, c.session_id, c.run_id, c.budget_usd, array['svc.ai.invoke'], 'ai/run/' || c.run_id,
           true, o.id, case s.owner_kind when 'person' then s.owner_id else s.initiated_by end, g.rate_burst,
           g.rate_per_minute, r.awaiting_since is not null
      into kind, organization_id, session_id, run_id, budget_usd, capabilities, bucket, cloud_access, installation_id,
           person_id, rate_burst, rate_per_minute, awaits
      from runtime_credentials c
      join runs r on (r.organization_id, r.session_id, r.id) = (c.organization_id, c.session_id, c.run_id)
      join sessions s on (s.organization_id, s.id) = (c.organization_id, c.session_id)
      join organizations g on g.id = c.organization_id
      left join installations o on s.owner_kind = 'app_installation' and o.id = s.owner_id
      where c.token_sha256 = credential and r.ended_at is null and g.suspended_at is null and g.cloud_access
        and (o.id is null or (o.revoked_at is null and o.capabilities @> '{svc.cloud.access}'));
  else
    select * into authority from resolve_bearer(
      case bearer_kind when 'end_user' then 'installation' else bearer_kind end,
      credential, subject, member, sign_in, setup, at);
    if found then
      kind := case bearer_kind when 'ai' then 'ai_key' else bearer_kind end;
      organization_id := authority.organization_id; capabilities := authority.capabilities; role := authority.role;
      cloud_access := authority.cloud_access; api_key_id := authority.api_key_id; end_user_id := end_user;
      rate_burst := authority.rate_burst; rate_per_minute := authority.rate_per_minute;
      if authority.principal_kind = 'person' then
        person_id := authority.principal_id; bucket := 'ai/membership/' || authority.membership_id;
      else
        installation_id := authority.principal_id;
        bucket := 'ai/installation/' || authority.principal_id || coalesce('/' || end_user, '');
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
  if granted = 0 then return; end if;
  select a.allowed_models, a.quota_ends_at, a.pauses, a.bounded into allowed_models, quota_ends_at, pauses, bounded
    from gateway_allowance(judge_gateway_bearer.organization_id, judge_gateway_bearer.api_key_id,
      judge_gateway_bearer.session_id, judge_gateway_bearer.person_id, judge_gateway_bearer.installation_id, at) a;
  if budget_usd is not null then
    select coalesce(sum(q.cost_usd), 0) into spent_usd from gateway_requests q
      where q.organization_id = judge_gateway_bearer.organization_id
        and q.session_id = judge_gateway_bearer.session_id and q.run_id = judge_gateway_bearer.run_id;
  end if;
end $$;
comment on function judge_gateway_bearer is 'The gateway''s guard in one call: who a bearer stands for, tokens from its bucket '
  'for the requests that came with it at the same moment, and its budgets. `granted` of them are let in. Only credentials that '
  'do not hold take from the bucket of their address, since every sandbox of a host comes from one address. The credential of '
  'a Run ends with the Run, and with the product access of its organization and of the installation that owns its Session; its '
  'use counts for the person who made it.';

-- The console: browsers, and things that people have there beside a Session.

create table console_sessions (
  id uuid primary key,
  digest bytea not null unique,
  person_id uuid not null references people, sign_in_id uuid not null references sign_ins, agent text, address text,
  sealed_tokens bytea, tokens_expire_at timestamptz, claim uuid, claimed_until timestamptz,
  created_at timestamptz not null, signed_in_at timestamptz not null, seen_at timestamptz not null,
  expires_at timestamptz not null
);
comment on table console_sessions is 'Browsers in which a person is signed in to the console. The browser holds 32 random '
  'bytes in a cookie; the row their digest. It ends with its sign-in.';
comment on column console_sessions.sealed_tokens is 'With which the console acts at an account service that has another '
  'database. The browser has none of them.';
comment on column console_sessions.tokens_expire_at is 'When the access token ends.';
comment on column console_sessions.claim is 'Of the process that renews the tokens: a refresh token is used once.';
comment on column console_sessions.signed_in_at is 'When the person last proved who they are.';
create index console_sessions_of_person on console_sessions (person_id);
create unique index console_sessions_claimed on console_sessions (claim) where claim is not null;
create index console_sessions_by_end on console_sessions (expires_at);

create function judge_console(
  credential bytea, organization uuid, address text, at timestamptz, idle interval, metered boolean,
  burst double precision, per_minute double precision, edge_burst double precision, edge_per_minute double precision,
  out outcome text, out authority bearer_authority, out remaining double precision, out session_id uuid,
  out person_id uuid, out sign_in_id uuid, out session_expires_at timestamptz, out signed_in_at timestamptz)
language plpgsql as $$
declare taken metering; seen timestamptz;
begin
  if metered then
    taken := take_token('address/' || address, edge_burst, edge_per_minute, at); remaining := taken.remaining;
    if not taken.granted then outcome := 'svc-cloud-auth'; return; end if;
  end if;
  select c.id, c.person_id, c.sign_in_id, c.expires_at, c.signed_in_at, c.seen_at
    into session_id, person_id, sign_in_id, session_expires_at, signed_in_at, seen
    from console_sessions c join sign_ins s on s.id = c.sign_in_id join people p on p.id = c.person_id
    where c.digest = credential and c.expires_at > at and c.seen_at > at - idle and s.ended_at is null
      and p.disabled_at is null;
  if not found then outcome := 'invalid'; return; end if;
  if organization is not null then
    select 'person', m.person_id, m.organization_id, null::text[], m.role, m.permissions, m.id, null::uuid,
           o.cloud_access, judge_console.session_expires_at, o.rate_burst, o.rate_per_minute
      into authority
      from memberships m join organizations o on o.id = m.organization_id
      where m.person_id = judge_console.person_id and m.organization_id = organization and m.revoked_at is null
        and o.suspended_at is null;
    if not found then outcome := 'stranger'; return; end if;
    if metered then
      taken := take_token(
        'membership/' || authority.membership_id, coalesce(authority.rate_burst, burst),
        coalesce(authority.rate_per_minute, per_minute), at);
      remaining := taken.remaining;
      if not taken.granted then outcome := 'svc-cloud'; return; end if;
    end if;
  end if;
  -- To the minute, so that a page that asks often does not write its row each time.
  if metered and seen <= at - interval '1 minute' then
    update console_sessions c set seen_at = at where c.id = session_id and c.seen_at < at;
  end if;
  outcome := 'granted';
end $$;
comment on function judge_console is 'The guard of the console in one call, as `judge_bearer` is for bearers: whose browser it '
  'is right now, as a member of the organization that the request names, and a token from the buckets of the client''s address '
  'and of that membership. A request that names none is metered by its address alone. `outcome` is granted, invalid, stranger '
  '(of a live session, without a membership in that organization), or the policy whose bucket is empty.';

create table host_people_begun (
  state_digest bytea primary key,
  console_session_id uuid not null references console_sessions on delete cascade,
  host text not null, verifier bytea not null, return_to text not null, expires_at timestamptz not null
);
comment on table host_people_begun is 'Connections to Git hosts, each finished by the browser that began it, and once.';
comment on column host_people_begun.verifier is 'Of PKCE, sealed for this row.';
create index host_people_begun_of_browser on host_people_begun (console_session_id);
create index host_people_begun_ending on host_people_begun (expires_at);

create table session_marks (
  organization_id uuid not null, session_id uuid not null, person_id uuid not null references people,
  read_sequence integer not null default 0 check (read_sequence >= 0),
  viewed_marks integer not null default 0 check (viewed_marks >= 0),
  pinned_at timestamptz, snoozed_at timestamptz, snoozed_until timestamptz,
  primary key (organization_id, session_id, person_id), foreign key (organization_id, session_id) references sessions
);
comment on table session_marks is 'How far a person has read a Session, and where in their list they keep it.';
comment on column session_marks.snoozed_until is 'Null: until the Session needs the person, which also ends a snooze before its time.';
create index session_marks_snoozed on session_marks (organization_id, person_id) where snoozed_at is not null;
comment on column session_marks.viewed_marks is 'Grows with `viewed_files`, so that a page knows whether its own are newest.';

create table viewed_files (
  organization_id uuid not null, session_id uuid not null, person_id uuid not null references people,
  path_digest bytea not null, path text not null, digest text not null, marked_at timestamptz not null,
  primary key (organization_id, session_id, person_id, path_digest), foreign key (organization_id, session_id) references sessions
);
comment on table viewed_files is 'Viewed as they were: another digest of a file''s change asks to be looked at again.';
comment on column viewed_files.path_digest is 'The key, because a path may be longer than an index takes.';

create table next_turns (
  organization_id uuid not null, session_id uuid not null, turn_id uuid not null, message text not null,
  author_id uuid not null references people,
  written_at timestamptz not null, refused_code text,
  primary key (organization_id, session_id), foreign key (organization_id, session_id) references sessions
);
comment on table next_turns is 'The message that a person left for a Session while its agent works. It becomes a Turn when the '
  'Run ends; if that is refused, it stays with the reason, so that its author gets the text back.';
create index next_turns_waiting on next_turns (written_at) where refused_code is null;

create unlogged table session_previews (
  organization_id uuid not null, session_id uuid not null, watched_until timestamptz not null,
  run_id uuid, preview text, primary key (organization_id, session_id)
);
comment on table session_previews is 'Sessions whose Run somebody watches. Lost on a crash of the database; the watchers write '
  'it again within seconds.';
comment on column session_previews.preview is 'An agent''s words and deeds right now, masked as the log is. Null once the log '
  'tells them.';

create unlogged table file_requests (
  id uuid not null, organization_id uuid not null, session_id uuid not null, lease_id uuid,
  request text not null, answer text, content bytea,
  claim uuid, claimed_until timestamptz,
  requested_at timestamptz not null, answered_at timestamptz, primary key (id, session_id)
);
comment on table file_requests is 'Requests for files of a workspace; the worker beside the sandbox answers '
  'them. Lost on a crash of the database, as the page asks again.';
comment on column file_requests.lease_id is 'Null: the base of the repository needs no sandbox, so any worker answers.';
comment on column file_requests.answer is 'Null while nobody has answered, and if the sandbox could not be read.';
create index file_requests_open on file_requests (requested_at) where answered_at is null;
create unique index file_requests_of_claim on file_requests (claim, session_id) where claim is not null;

create table previews (
  label text not null check (label ~ '^[a-z2-7]{20}$'),
  organization_id uuid not null, session_id uuid not null,
  port integer check (port between 1 and 65535), lease_id uuid, artifact_id uuid,
  person_id uuid not null, membership_id uuid not null, sign_in_id uuid not null,
  ticket_digest bytea, ticket_expires_at timestamptz not null, secret_digest bytea, expires_at timestamptz not null,
  primary key (label, session_id), foreign key (organization_id, session_id) references sessions,
  check (num_nonnulls(port, artifact_id) = 1 and (port is null) = (lease_id is null))
);
comment on table previews is 'Ports of sandboxes, and artifacts that a browser would run. Each has a host of its own, which '
  'one browser has entered by a ticket.';
comment on column previews.ticket_digest is 'Null once it was used.';
comment on column previews.secret_digest is 'Of the cookie at the host of a port, or of the address of an artifact''s content, '
  'which only the page that the ticket opened knows.';
create index previews_of_session on previews (organization_id, session_id, port);
create index previews_ending on previews (expires_at);

create table push_subscriptions (
  id uuid primary key, membership_id uuid not null references memberships,
  organization_id uuid not null references organizations, person_id uuid not null references people,
  sign_in_id uuid not null references sign_ins, endpoint_digest bytea not null, sealed bytea not null, agent text,
  needs_you boolean not null, run_ended boolean not null,
  created_at timestamptz not null, seen_at timestamptz not null, pushed_at timestamptz,
  failures integer not null default 0,
  unique (membership_id, endpoint_digest)
);
comment on table push_subscriptions is 'Browsers to which the notifications of a membership are pushed. Where and with which '
  'keys is sealed: whoever has both can write to the browser. It ends with the sign-in and the membership, which are judged at '
  'each push.';
comment on column push_subscriptions.seen_at is 'When the browser repeated it last.';
comment on column push_subscriptions.failures is 'Pushes in a row that were not accepted.';
create index push_subscriptions_of_organization on push_subscriptions (organization_id);
create index push_subscriptions_of_endpoint on push_subscriptions (endpoint_digest);
create index push_subscriptions_of_sign_in on push_subscriptions (sign_in_id);

create table push_deliveries (
  id uuid primary key,
  subscription_id uuid not null references push_subscriptions on delete cascade,
  organization_id uuid not null, session_id uuid, sequence integer,
  kind text not null check (kind in ('needs_you', 'run_ended', 'test')),
  subject text not null, tries integer not null default 0,
  created_at timestamptz not null, due_at timestamptz not null, claim uuid, claimed_until timestamptz, ended_at timestamptz,
  unique (subscription_id, kind, subject)
);
comment on table push_deliveries is 'A row that has ended stays for a while, so that the same thing is not pushed again.';
comment on column push_deliveries.session_id is 'Null for a test.';
comment on column push_deliveries.sequence is 'Whoever has read so far knows of it already.';
comment on column push_deliveries.subject is 'The request, the Run or the test.';
create index push_deliveries_due on push_deliveries (due_at) where ended_at is null;
create unique index push_deliveries_claimed on push_deliveries (claim) where claim is not null;
create index push_deliveries_ended on push_deliveries (ended_at) where ended_at is not null;
create index push_deliveries_of_session on push_deliveries (organization_id, session_id);

-- The deployment.

create table deployment (
  only_row boolean primary key default true check (only_row),
  blob_store uuid not null default gen_random_uuid(), blob_store_seen boolean not null default false,
  master_key_check bytea, push_public_key bytea, sealed_push_private_key bytea,
  feed_position xid8 not null default '0', feed_last_id uuid not null default '00000000-0000-0000-0000-000000000000'
);
comment on table deployment is 'Facts that all processes on this database must agree on, in one row.';
comment on column deployment.blob_store is 'Also an object in the blob store. Until seen there, a start may still write it.';
comment on column deployment.master_key_check is 'A constant, sealed under the master key; null until a process holds one.';
comment on column deployment.push_public_key is 'Of the key pair that proves to push services who sends (RFC 8292). It is '
  'made once; browsers that subscribed with it take nothing from another one. Null until a browser asks for it.';
comment on column deployment.feed_position is 'How far the changes of another account service have been applied here.';
insert into deployment default values;

create table chores (
  name text primary key, holder text not null,
  expires_at timestamptz not null, done_at timestamptz
);
comment on table chores is 'Work that one process at a time does for all. A holder that stops renewing loses the chore.';

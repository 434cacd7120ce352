-- An API may judge credentials at an account service that has another database. This one then holds copies of the rows
-- that its own rows name, and learns from the account service which of them have changed.

-- The last change of each organization, installation and membership that may stop something. Its position is the number
-- of its transaction: all below the horizon of a snapshot have ended, so whoever reads up to there has missed none. A row
-- that changes again moves on, so the table holds no more rows than there are subjects, and never has to forget any.
create table standing_changes (
  id uuid primary key,
  kind text not null check (kind in ('organization', 'installation', 'membership')),
  position xid8 not null
);
create index standing_changes_in_order on standing_changes (position, id);

create function note_standing() returns trigger language plpgsql as $$
begin
  insert into standing_changes (id, kind, position) values (new.id, tg_argv[0], pg_current_xact_id())
    on conflict (id) do update set position = excluded.position;
  return null;
end $$;
create trigger organizations_standing after update on organizations for each row
  when ((old.suspended_at, old.cloud_access, old.rate_burst, old.rate_per_minute, old.name)
    is distinct from (new.suspended_at, new.cloud_access, new.rate_burst, new.rate_per_minute, new.name))
  execute function note_standing('organization');
create trigger installations_standing after update on installations for each row
  when ((old.revoked_at, old.capabilities) is distinct from (new.revoked_at, new.capabilities))
  execute function note_standing('installation');
create trigger memberships_standing after update on memberships for each row
  when (old.revoked_at is distinct from new.revoked_at)
  execute function note_standing('membership');

-- How far the changes of another account service have been applied here.
create table identity_feed (
  only_row boolean primary key default true check (only_row),
  position xid8 not null default '0',
  last_id uuid not null default '00000000-0000-0000-0000-000000000000'
);
insert into identity_feed default values;

-- `far` is the copy of an installation whose row is in another database.
alter table installations drop constraint installations_kind_check;
alter table installations add constraint installations_kind_check check (kind in ('app', 'integration', 'own', 'far'));

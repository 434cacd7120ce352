-- Schedules and deliveries of other systems make Sessions of an installation.
create table triggers (
  organization_id uuid not null references organizations,
  id uuid not null,
  installation_id uuid not null references installations,
  name text not null,
  message text not null,
  session jsonb not null,
  cron text,
  time_zone text,
  enabled boolean not null,
  -- When the schedule fires next; null without one, or while the trigger is off.
  next_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (organization_id, id),
  check ((cron is null) = (time_zone is null)),
  check (next_at is null or (enabled and cron is not null))
);
create index triggers_of_installation on triggers (organization_id, installation_id);
create index triggers_due on triggers (next_at) where next_at is not null;

-- One firing. The id of its Session follows from trigger and key, so a delivery makes one Session however often it is tried.
create table trigger_deliveries (
  organization_id uuid not null,
  trigger_id uuid not null,
  key text not null,
  message text not null,
  status text not null check (status in ('waiting', 'admitted', 'refused')),
  error_code text,
  tries integer not null default 0,
  created_at timestamptz not null,
  -- When it is tried next. Whoever tries it moves this ahead first.
  due_at timestamptz not null,
  primary key (organization_id, trigger_id, key),
  foreign key (organization_id, trigger_id) references triggers on delete cascade
);
create index trigger_deliveries_due on trigger_deliveries (due_at) where status = 'waiting';
create index trigger_deliveries_ended on trigger_deliveries (created_at) where status <> 'waiting';
create index trigger_deliveries_latest on trigger_deliveries (organization_id, trigger_id, created_at desc);

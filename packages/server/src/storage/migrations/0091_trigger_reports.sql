-- The commit that the pull request or the check of a delivery's event is about.
alter table trigger_deliveries add column head_oid text;

-- What GitHub is told of a Turn that one of its events made: a check run of the commit, and a comment with the result.
create table trigger_reports (
  organization_id uuid not null,
  trigger_id uuid not null,
  key text not null,
  session_id uuid not null,
  run_id uuid not null,
  -- How much GitHub has been told.
  told text not null check (told in ('nothing', 'begun', 'ended')),
  -- What was written, and why it cannot be written.
  comment_id text,
  comment_url text,
  comment_error text,
  check_id text,
  check_error text,
  failures integer not null default 0,
  created_at timestamptz not null,
  due_at timestamptz not null,
  -- Nothing more is told.
  closed_at timestamptz,
  claim uuid,
  claimed_until timestamptz,
  primary key (organization_id, trigger_id, key),
  foreign key (organization_id, trigger_id, key) references trigger_deliveries on delete cascade
);
create index trigger_reports_open on trigger_reports (due_at) where closed_at is null;
create index trigger_reports_of_session on trigger_reports (organization_id, session_id) where closed_at is null;
create unique index trigger_reports_claimed on trigger_reports (claim) where claim is not null;

-- All work of Sessions that waits for a process or is held by one, a row each. It is an index of that work: what is true stands in
-- the tables of the work, in the same transactions. `src/queue` can write it anew from them at any time.
create table queue (
  organization_id uuid not null,
  session_id uuid not null,
  -- A Run and its seal are `run`; else `workspace`, `publication`, `merge`, `review` or `look`.
  work text not null,
  -- Of the work; the Session's own where it has at most one.
  id uuid not null,
  runtime text,
  -- From when a process may take it: in the past for what was offered or has lapsed, `infinity` while a process stands for it.
  due_at timestamptz not null,
  -- The process that holds a Run or a workspace, or held it before it lapsed; null while nobody does.
  holder text,
  -- A Run that counts against its organization's turn.
  at_work boolean not null default false,
  primary key (organization_id, session_id, work, id)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
-- Organizations take turns.
create index queue_in_turn on queue (organization_id, due_at) where work = 'run' and holder is null;
create index queue_at_work on queue (organization_id) where at_work;
create index queue_due on queue (work, due_at) where holder is null;
create index queue_lapsed on queue (due_at) where holder is not null;
create index queue_of_holder on queue (holder) where holder is not null;

insert into queue (organization_id, session_id, work, id, runtime, due_at, holder, at_work)
select r.organization_id, r.session_id, 'run', r.id, r.runtime, r.claimable_at, null, false
from runs r where r.ended_at is null and r.status = 'queued'
union all
select e.organization_id, e.session_id, 'run', r.id, r.runtime, e.expires_at, e.holder, r.status in ('dispatching', 'running')
from executions e
join runs r on r.organization_id = e.organization_id and r.session_id = e.session_id and r.id = e.run_id
where e.task in ('run', 'seal') and r.status <> 'queued' and (r.ended_at is null or e.task = 'seal')
union all
select e.organization_id, e.session_id, 'workspace', e.session_id, null, e.expires_at, e.holder, false
from executions e where e.task = 'restore'
union all
select w.organization_id, w.session_id, 'workspace', w.session_id, null, w.requested_at, null, false
from workspace_requests w
where w.failed_at is null and not exists (
  select from executions e
  where e.organization_id = w.organization_id and e.session_id = w.session_id and e.task = 'restore')
union all
select organization_id, session_id, 'publication', id, null, greatest(due_at, claimed_until), null, false
from publications where completed_at is null
union all
select organization_id, session_id, 'merge', md5(publication_id::text || id::text)::uuid, null,
  greatest(due_at, claimed_until), null, false
from merges where completed_at is null
union all
select organization_id, session_id, 'review', session_id, null, coalesce(claimed_until, 'epoch'), null, false
from review_requests where answered < asked
union all
select organization_id, session_id, 'look', id, null, greatest(asked_at, claimed_until), null, false
from file_looks where answered_at is null;

-- What only looked for work.
drop index runs_queued, runs_queued_of_organization, runs_at_work, executions_held,
  publications_due, file_looks_open;

-- Somebody wants a review of the Session's workspace. Each caller takes the next ticket; whoever works it off answers all
-- tickets that were out before it began to look, with one revision or with what went wrong.
create table review_requests (
  organization_id uuid not null,
  session_id uuid not null,
  asked bigint not null,
  answered bigint not null default 0,
  revision text,
  failure text,
  claim uuid,
  claimed_until timestamptz,
  primary key (organization_id, session_id),
  foreign key (organization_id, session_id) references sessions
);
create index review_requests_open on review_requests (session_id) where answered < asked;

-- What a workspace differed in from its base, for good. The objects that the base lacks are a pack among the blobs, so
-- that a delivery needs nothing else; null where there are none.
create table reviews (
  organization_id uuid not null,
  session_id uuid not null,
  revision text not null check (revision ~ '^[0-9a-f]{64}$'),
  base_oid text not null,
  base_tree text not null,
  head_tree text not null,
  target_branch text not null,
  pack_sha256 text,
  document_sha256 text not null,
  created_at timestamptz not null,
  primary key (organization_id, session_id, revision),
  foreign key (organization_id, session_id) references sessions
);

-- Deliveries of reviewed revisions. Each step is recorded before it is taken; the claim is proven by every write.
create table publications (
  organization_id uuid not null,
  session_id uuid not null,
  id uuid not null,
  request_hash bytea not null,
  revision text not null,
  title text not null,
  body text not null,
  delivery text not null check (delivery in ('pull_request', 'direct_branch')),
  branch text not null,
  draft boolean not null,
  status text not null check (status in ('admitted', 'prepared', 'attempted', 'succeeded', 'failed')),
  -- The commit to be, and where the branch stood before it; null for a branch that was not there.
  commit_sha text,
  parent_oid text,
  moves_from text,
  -- Whether no pull request of the branch was open when one was about to be opened: one that is found later is ours.
  opening boolean not null default false,
  result jsonb,
  error_code text,
  failures integer not null default 0,
  due_at timestamptz not null,
  claim uuid,
  claimed_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  completed_at timestamptz,
  primary key (organization_id, session_id, id),
  foreign key (organization_id, session_id, revision) references reviews,
  check ((completed_at is not null) = (status in ('succeeded', 'failed')))
);
create index publications_in_order on publications (organization_id, session_id, created_at desc, id desc);
create index publications_open on publications (organization_id, session_id, created_at) where completed_at is null;
create index publications_due on publications (due_at) where completed_at is null;
create unique index publications_claimed on publications (claim) where claim is not null;

create table merges (
  organization_id uuid not null,
  session_id uuid not null,
  publication_id uuid not null,
  id uuid not null,
  request_hash bytea not null,
  strategy text not null check (strategy in ('merge', 'squash', 'rebase')),
  mode text not null check (mode in ('immediate', 'when_ready')),
  commit_title text,
  commit_message text,
  pull_number integer not null,
  head_sha text not null,
  status text not null check (status in ('admitted', 'attempted', 'waiting', 'succeeded', 'failed')),
  merged_commit_sha text,
  error_code text,
  attempts integer not null default 0,
  failures integer not null default 0,
  due_at timestamptz not null,
  claim uuid,
  claimed_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  completed_at timestamptz,
  primary key (organization_id, session_id, publication_id, id),
  foreign key (organization_id, session_id, publication_id) references publications,
  check ((completed_at is not null) = (status in ('succeeded', 'failed')))
);
create index merges_in_order on merges (organization_id, session_id, publication_id, created_at desc, id desc);
create index merges_open on merges (organization_id, session_id) where completed_at is null;
create index merges_due on merges (due_at) where completed_at is null;
create unique index merges_claimed on merges (claim) where claim is not null;

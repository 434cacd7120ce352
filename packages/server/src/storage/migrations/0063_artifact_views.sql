-- Views of artifacts that a browser would run. Each has a host of its own, and a link that opens it once.
create table artifact_views (
  label text primary key check (label ~ '^[a-z2-7]{20}$'),
  organization_id uuid not null,
  session_id uuid not null,
  artifact_id uuid not null,
  person_id uuid not null,
  membership_id uuid not null,
  sign_in_id uuid not null,
  -- Null once it was used.
  ticket_digest bytea,
  -- Of the address of the content, which only the page that the ticket opened knows.
  content_digest bytea,
  -- Of the ticket until it is used, then of the content.
  ends_at timestamptz not null,
  foreign key (organization_id, session_id) references sessions (organization_id, id)
);
create index artifact_views_ending on artifact_views (ends_at);
create index artifact_views_of_session on artifact_views (organization_id, session_id);

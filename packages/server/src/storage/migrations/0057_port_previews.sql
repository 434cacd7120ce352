-- Previews of ports of sandboxes. Each has a host of its own, which one browser of one person has entered by a ticket.
create table port_previews (
  label text primary key check (label ~ '^[a-z2-7]{20}$'),
  port integer not null check (port between 1 and 65535),
  organization_id uuid not null,
  session_id uuid not null,
  lease_id uuid not null,
  person_id uuid not null,
  membership_id uuid not null,
  sign_in_id uuid not null,
  -- Null once it was used.
  ticket_digest bytea,
  ticket_ends_at timestamptz not null,
  cookie_digest bytea,
  ends_at timestamptz not null,
  foreign key (organization_id, session_id) references sessions (organization_id, id)
);
create index port_previews_of_session on port_previews (organization_id, session_id, port);
create index port_previews_ending on port_previews (ends_at);

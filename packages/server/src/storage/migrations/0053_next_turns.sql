-- The message that a person left for a Session while its agent works. It becomes a Turn when the Run ends; if that is
-- refused, it stays with the reason, so that its author gets the text back.
create table next_turns (
  organization_id uuid not null,
  session_id uuid not null,
  turn_id uuid not null,
  message text not null,
  author_id uuid not null references people,
  written_at timestamptz not null,
  refused_code text,
  primary key (organization_id, session_id),
  foreign key (organization_id, session_id) references sessions (organization_id, id)
);

create index next_turns_waiting on next_turns (written_at) where refused_code is null;

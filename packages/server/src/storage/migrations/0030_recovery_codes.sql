-- Codes that replace the second factor of a person who has lost it. Each works once; digests are keyed with the master key.
create table recovery_codes (
  person_id uuid not null references people,
  digest bytea not null,
  used_at timestamptz,
  primary key (person_id, digest)
);

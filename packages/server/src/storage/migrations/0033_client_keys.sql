-- Private keys by which the service's own clients name themselves at the token endpoint.
create table client_keys (
  client_id text primary key,
  public_jwk jsonb not null,
  sealed_private bytea not null,
  created_at timestamptz not null
);

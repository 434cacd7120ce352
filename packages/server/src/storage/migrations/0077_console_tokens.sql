-- Tokens with which the console acts at an account service that has another database: one row for each browser's session,
-- sealed for it. The browser has none of them.
create table console_tokens (
  console_session_id uuid primary key references console_sessions on delete cascade,
  sealed bytea not null,
  -- When the access token ends.
  expires_at timestamptz not null,
  -- Until when a process renews them. A refresh token is used once, so only one may.
  renewing_until timestamptz
);

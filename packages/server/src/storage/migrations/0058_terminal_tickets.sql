-- Whoever asks for a ticket takes a terminal over only with that ticket. Until then the terminal ends with the sign-in of
-- whoever looks at it.
alter table terminals
  add column ticket_membership_id uuid,
  add column ticket_sign_in_id uuid,
  add column ticket_console_session_id uuid,
  -- Made when a ticket is taken: the page that has the terminal.
  add column holder_id uuid;
update terminals
set ticket_membership_id = membership_id, ticket_sign_in_id = sign_in_id, ticket_console_session_id = console_session_id
where ticket_digest is not null;

-- When the email of an account was proven to be its person's: by a link of an operator, or by a provider that verified it
-- and lists its domain. Null: nothing but an invitation of one organization vouches for it.
alter table people add column email_proven_at timestamptz;
-- Members of several organizations are nobody's alone, and accounts without a password were made by a provider.
update people p set email_proven_at = now()
where (select count(*) from memberships m where m.person_id = p.id and m.revoked_at is null) > 1
   or (p.password_hash is null and exists (select from external_identities i where i.person_id = p.id));
-- A reset now names the administrator who issued it. Of those that are open nobody can tell whether an operator did.
update one_time_links set used_at = now() where kind = 'reset' and used_at is null;

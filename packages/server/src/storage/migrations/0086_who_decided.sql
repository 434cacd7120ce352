-- Who has decided an approval; null for decisions of earlier releases, and of rules.
alter table interactions add column decided_by_kind text, add column decided_by_id uuid;

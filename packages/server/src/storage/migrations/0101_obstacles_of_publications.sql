-- The branch that was in the way of a failed Publication's own, and a name that is free.
alter table publications add column obstacle jsonb;

-- Whether the shell of an ended terminal may still run: until its supervisor has answered the order to end it.
alter table terminals add column end_owed boolean not null default false;
create index terminals_end_owed on terminals (lease_id) where end_owed;

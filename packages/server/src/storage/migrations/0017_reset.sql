-- The Turn that a Session which was reset begins afresh with: nothing of the Turns before it is gone on from.
alter table sessions add column fresh_from_turn integer not null default 0;

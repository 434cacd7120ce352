-- A look at the base of a Session's repository needs no sandbox: any worker answers it.
alter table file_looks alter column lease_id drop not null;

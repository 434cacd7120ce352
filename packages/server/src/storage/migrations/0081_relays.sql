-- Where other processes reach the sandboxes of the hosts that a process holds; null if they do not.
alter table processes add column relay_url text;

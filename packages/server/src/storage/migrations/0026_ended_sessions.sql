-- Whatever a person signed in to before this moment has ended. Seconds of the epoch, and always ahead of every session
-- that there was: a change of the password raises it by one even twice in a second.
alter table people add sessions_since bigint not null default 0;

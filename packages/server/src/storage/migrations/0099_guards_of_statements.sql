-- without older processes
-- A distributed PostgreSQL takes no trigger on a table that it spreads. What these two did, every statement does itself now
-- that no process of a release before this one runs.
drop trigger sessions_move on sessions;
drop function note_move();
drop trigger checkpoints_seal_turns on checkpoints;
drop function note_sealed_turns();
-- Those processes named its columns. `interactions_of_lease` has the Session's id as well.
alter table interactions drop constraint interactions_lease_id_journal_offset_key;

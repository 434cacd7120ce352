-- An API whose account service has another database also hears of people who are disabled and of sign-ins that end:
-- terminals, previews, views and push rest on them.
alter table standing_changes drop constraint standing_changes_kind_check;
alter table standing_changes add constraint standing_changes_kind_check
  check (kind in ('organization', 'installation', 'membership', 'person', 'sign_in'));

create trigger people_standing after update on people for each row
  when (old.disabled_at is distinct from new.disabled_at)
  execute function note_standing('person');
create trigger sign_ins_standing after update on sign_ins for each row
  when (old.ended_at is distinct from new.ended_at)
  execute function note_standing('sign_in');

-- Copies elsewhere have not heard of what ended before.
insert into standing_changes (id, kind, position)
select id, 'person', pg_current_xact_id() from people where disabled_at is not null
union all
select id, 'sign_in', pg_current_xact_id() from sign_ins where ended_at is not null;

-- An account service that was migrated first has told this database's older processes of neither, and they are past it.
update identity_feed set position = '0', last_id = '00000000-0000-0000-0000-000000000000';

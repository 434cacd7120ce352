-- What became of a Turn that was to join a Run at work; null for every other Turn.
alter table turns add column steering text check (steering in ('waiting', 'taken', 'missed'));

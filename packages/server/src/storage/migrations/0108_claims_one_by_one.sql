-- A worker takes queued Runs one by one, and no longer asks what the others can work on.
alter table processes drop column hands, drop column busy;

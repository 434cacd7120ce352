-- The person who asked for a Session that the service's own installation owns.
alter table sessions add initiated_by uuid references people;

-- People read a pull request because they see the Session that published it.
create index publications_of_pull on publications (organization_id, (result -> 'pullRequest' ->> 'number'))
  where result is not null;

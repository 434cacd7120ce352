-- How an organization has the commits of its Publications attributed: to the person who asked, or to the app with them as
-- a co-author; and whether the author signs off.
alter table organizations
  add column commit_author text not null default 'person' check (commit_author in ('person', 'app')),
  add column commit_sign_off boolean not null default false;

-- The person who asked, and the whole commit, both until the Publication ends: a signature differs each time that it is made,
-- and a repeat must push the same commit.
alter table publications
  add column author jsonb,
  add column commit_object text;

-- The keys with the Session's id take the place of those without. `interactions_lease_id_journal_offset_key` stays for a
-- release: processes of the one before name its columns.
alter table interactions drop constraint interactions_lease_id_fkey;
alter table terminals drop constraint terminals_lease_id_fkey;
alter table leases drop constraint leases_pkey, add constraint leases_pkey primary key using index leases_by_id;
alter table interactions add constraint interactions_lease_id_fkey
  foreign key (lease_id, session_id) references leases (id, session_id) not valid;
alter table terminals add constraint terminals_lease_id_fkey
  foreign key (lease_id, session_id) references leases (id, session_id) not valid;

alter table runtime_credentials drop constraint runtime_credentials_pkey,
  add constraint runtime_credentials_pkey primary key using index runtime_credentials_by_token;
alter table port_previews drop constraint port_previews_pkey,
  add constraint port_previews_pkey primary key using index port_previews_by_label;
alter table artifact_views drop constraint artifact_views_pkey,
  add constraint artifact_views_pkey primary key using index artifact_views_by_label;
alter table file_looks drop constraint file_looks_pkey,
  add constraint file_looks_pkey primary key using index file_looks_by_id;
alter table terminals drop constraint terminals_pkey,
  add constraint terminals_pkey primary key using index terminals_by_id;
drop index file_looks_claimed, merges_claimed, publications_claimed, review_requests_claimed;

-- Apart from the change of keys, as reading all rows takes longer than anybody should wait for those.
alter table interactions validate constraint interactions_lease_id_fkey;
alter table terminals validate constraint terminals_lease_id_fkey;

-- Digest of the form in which a code was entered last: a double click sends it twice, and the answer to the second counts.
alter table people add column totp_form bytea;
alter table recovery_codes add column used_in bytea;

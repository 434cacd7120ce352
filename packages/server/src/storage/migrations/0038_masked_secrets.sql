-- Whether the value of a secret is long enough to be masked in output, which is counted in characters and not in bytes.
alter table environment_secrets add masked boolean not null default true;
update environment_secrets set masked = false where size_bytes < 8;

-- Whether an archive holds anything for a runtime. Earlier uploads count as holding something.
alter table environment_archives add column brings_nothing boolean not null default false;

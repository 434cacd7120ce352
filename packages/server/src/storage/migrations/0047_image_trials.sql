-- How often a sandbox was started from a sealed image in vain. One that never starts is not offered.
alter table environment_images add trials smallint not null default 0;

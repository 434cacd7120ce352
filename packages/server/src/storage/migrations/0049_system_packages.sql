-- The layer of system packages that a sandbox shows: its host keeps the layer while the lease lives.
alter table leases add column package_layer text;
-- Why a host can install no system packages, in words; null if it can.
alter table runtime_hosts add column packages_fault text;

-- Organizations that run on hosts of their own alone.
create table bound_organizations (
  organization_id uuid primary key references organizations,
  bound_at timestamptz not null
);

-- What a host spoke that dialled last and was refused for it; null once it is connected.
alter table hosts add column refused_protocol text;

-- Who signs the commits of an organization's Publications: the deployment, if it has a key, or the Git host, which makes the
-- commits itself then.
alter table organizations
  add column commit_signer text not null default 'deployment' check (commit_signer in ('deployment', 'host'));

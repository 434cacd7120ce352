-- What one Run of an organization may use, where that is not what the deployment says.
create table run_budgets (
  organization_id uuid primary key references organizations (id),
  cost_usd numeric check (cost_usd > 0),
  turns integer check (turns > 0),
  seconds integer check (seconds > 0)
);

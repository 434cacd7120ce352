-- An organization may bound its own spending. A bound of its operator stays beside it, and both hold.
alter table gateway_budgets
  add column set_by text not null default 'operator' check (set_by in ('operator', 'organization')),
  drop constraint gateway_budgets_organization_id_api_key_id_period_key,
  add constraint gateway_budgets_of_period unique nulls not distinct (organization_id, api_key_id, period, set_by);

alter table run_budgets
  add column own_cost_usd numeric check (own_cost_usd > 0),
  add column own_turns integer check (own_turns > 0),
  add column own_seconds integer check (own_seconds > 0);

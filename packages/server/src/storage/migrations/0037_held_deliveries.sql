-- What processes hold of an endpoint is counted at every claim. Without an index of its own the count reads all of the
-- endpoint's deliveries, those of the past 30 days too.
create index webhook_deliveries_held on webhook_deliveries (endpoint_id) where claim is not null;

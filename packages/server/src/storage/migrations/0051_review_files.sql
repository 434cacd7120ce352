-- Every changed file of a review with its unchanged lines, so that a reader needs no sandbox and no Git host. Null for
-- reviews made before, and until the worker that made the review has stored it.
alter table reviews add column files_sha256 text;

-- Why a review was refused, for whoever asked: the path that git cannot take, or the bound that the changes go over.
alter table review_requests add column failure_message text;

-- A review's claim is proven by its token alone, as those of Publications and Merges are.
create unique index review_requests_claimed on review_requests (claim) where claim is not null;

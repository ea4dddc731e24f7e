-- The keys that admins should clean up: expired ones, and active ones that nobody uses.
create index api_keys_by_expiry on api_keys (expires_at) where expires_at is not null;
create index api_keys_by_use on api_keys (coalesce(last_used_at, created_at)) where is_active = true;

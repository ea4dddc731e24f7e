-- usable-from: 0012
-- A webhook that was found to be due before its turn waits for this earlier one of its user. It is no candidate again until the earlier one
-- is delivered, fails or may be overtaken. Earlier means a smaller id, so that no circle of webhooks can wait for each other.
alter table webhook_deliveries add column waits_for bigint references webhook_deliveries (id) on delete set null check (waits_for < id);

create index webhook_deliveries_by_turn on webhook_deliveries (due_at, id) where failed_at is null and waits_for is null;
create index webhook_deliveries_in_order on webhook_deliveries (user_id, id) where failed_at is null and (attempts < 4 or lease is not null);
create index webhook_deliveries_by_earlier on webhook_deliveries (waits_for) where waits_for is not null;

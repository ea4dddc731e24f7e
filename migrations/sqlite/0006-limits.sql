-- One row for each network or e-mail address that was counted lately, and for each network that an account was used from. Keys are HMACs:
-- no address is stored. The limit is fully available again at `free_at` (the theoretical arrival time of GCRA, in microseconds since 1970).
create table rate_limits (
  key text primary key,
  free_at integer not null
) strict, without rowid;

create index rate_limits_by_time on rate_limits (free_at);

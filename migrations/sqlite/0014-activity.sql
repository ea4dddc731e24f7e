-- usable-from: 0012
-- What all processes did, one row for each minute (since 1970) of the last day. Each process adds its counts.
create table activity (
  minute integer primary key,
  requests integer not null,
  refused integer not null,
  failed integer not null,
  duration_us integer not null,
  slowest_us integer not null,
  logins integer not null,
  failed_logins integer not null,
  longest_queue integer not null
) strict;

-- usable-from: 0012
-- The oldest schema whose version of the service works on the one that a migration leaves behind. Such a version starts on a newer
-- database, so that processes can be replaced one after the other, and a new version can be taken back without a backup.
alter table schema_migrations add column usable_from text;

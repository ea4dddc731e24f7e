/** The header of /heartbeat that names the database of a service: several services may run on one machine. */
export const INSTANCE_HEADER = 'latchkey-instance'

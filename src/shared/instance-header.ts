/** The header of /heartbeat that names the database of a service: several services may run on one machine. */
export const INSTANCE_HEADER = 'latchkey-instance'
/** The header of /heartbeat that says that the client address of a proxy is ignored. */
export const FORWARDED_HEADER = 'latchkey-forwarded'

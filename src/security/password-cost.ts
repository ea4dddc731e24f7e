/** The cost of the hashes that the service makes itself, with argon2id. */
export const PASSWORD_COST = { memoryKiB: 19 * 1024, passes: 2 } as const

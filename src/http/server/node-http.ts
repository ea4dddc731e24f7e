/**
 * Importing node:http evaluates all of its exports, which loads the client side of Node: 15 MB of memory and a tenth of a second at
 * every start, for code that this service does not use.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

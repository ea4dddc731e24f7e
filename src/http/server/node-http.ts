/**
 * An import of node:http reads each of its exports, and with them loads the client side of Node: 15 MB of memory, and a tenth of a
 * second of every start, for what nobody here asks for.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

// Loaded before anything else when the service or the command line runs from its sources: what Node makes of them is kept beside the
// packages, and the next start needs neither the time nor the memory for it. Where the folder cannot be written, nothing is kept.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/latchkey'))

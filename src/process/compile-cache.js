// Loaded first when the service or the command line runs from its sources. Node caches the compiled code next to the packages, which
// saves time and memory at the next start. If the folder is not writable, nothing is cached.
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/latchkey'))

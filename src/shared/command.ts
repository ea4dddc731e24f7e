import { fileURLToPath } from 'node:url'

/** How the command line is called from here: by npm in a clone, by Node.js where the service is installed, as in an image. */
export const COMMAND = import.meta.url.endsWith('.ts')
  ? 'npm run latchkey --'
  : `node ${fileURLToPath(new URL('../cli/latchkey.js', import.meta.url))}`

import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The pipe to this script closes when its owner has ended, however it ended. SIGQUIT makes PostgreSQL stop at once and release its
// shared memory, which SIGKILL does not.
const CLEAN_UP = `
  inside() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$0*" 2> /dev/null | cut -d / -f 3; }
  cat > /dev/null
  for signal in QUIT CONT; do inside | xargs -r kill -s $signal 2> /dev/null; done
  tries=0
  while [ -n "$(inside)" ] && [ $((tries += 1)) -lt 100 ]; do sleep 0.1; done
  inside | xargs -r kill -s KILL 2> /dev/null
  rm -rf "$0"`

/**
 * The folder of everything temporary of a test run, shared with the processes that it starts. Even if the run is killed, the folder is
 * removed after it, together with the processes that run inside, such as databases.
 */
export function runFolder(): string {
  const shared = process.env['TEST_RUN_FOLDER']
  if (shared) return shared
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'latchkey-run-'))
  // Databases run under another account.
  chmodSync(folder, 0o711)
  const janitor = spawn('sh', ['-c', CLEAN_UP, folder], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  janitor.unref()
  // A pipe is a socket, which keeps the process running unless it is released.
  if ('unref' in janitor.stdin && typeof janitor.stdin.unref === 'function') janitor.stdin.unref()
  // Browsers and other programs create their files in TMPDIR.
  Object.assign(process.env, { TEST_RUN_FOLDER: folder, TMPDIR: folder })
  return folder
}

/** A new folder below that of the run. */
export function newFolder(name: string): string {
  return mkdtempSync(join(runFolder(), `${name}-`))
}

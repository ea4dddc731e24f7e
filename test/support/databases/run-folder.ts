import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, realpathSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// The pipe to this script closes when its owner has ended, however it ended. SIGQUIT makes PostgreSQL stop at once and release its
// shared memory, which SIGKILL does not. The script holds a lock on its folder: a folder that has no lock holder was left by a run that was
// killed together with its script, and the next run removes it.
const CLEAN_UP = `
  inside() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$1*" 2> /dev/null | cut -d / -f 3; }
  clean_up() {
    for signal in QUIT CONT; do inside "$1" | xargs -r kill -s $signal 2> /dev/null; done
    tries=0
    while [ -n "$(inside "$1")" ] && [ $((tries += 1)) -lt 100 ]; do sleep 0.1; done
    inside "$1" | xargs -r kill -s KILL 2> /dev/null
    rm -rf "$1"
  }
  exec 9> "$0/.new-lock" && flock 9 && mv "$0/.new-lock" "$0/.lock"
  for lock in "\${0%/*}"/latchkey-run-*/.lock; do
    (flock -n 8 && clean_up "\${lock%/*}") 8> "$lock"
  done &
  cat > /dev/null
  clean_up "$0"`

const MEMORY = '/dev/shm'
const MEMORY_BYTES = 4 * 2 ** 30

/** In memory, if the run asks for it and there is enough: most tests wait for commits of SQLite. */
function parentFolder(): string {
  if (process.env['TEST_IN_MEMORY'] !== 'true' || !existsSync(MEMORY)) return tmpdir()
  const { bavail, bsize } = statfsSync(MEMORY)
  return bavail * bsize >= MEMORY_BYTES ? MEMORY : tmpdir()
}

/**
 * The folder of everything temporary of a test run, shared with the processes that it starts. Even if the run is killed, the folder is
 * removed after it, together with the processes that run inside, such as databases.
 */
export function runFolder(): string {
  const shared = process.env['TEST_RUN_FOLDER']
  if (shared) return shared
  const folder = mkdtempSync(join(realpathSync(parentFolder()), 'latchkey-run-'))
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

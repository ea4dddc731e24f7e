import { existsSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { createExport, type Export } from '../../domain/import/export.service.ts'
import { explainSystemError } from '../../shared/errors.ts'
import { createDraft, isTaken } from '../../shared/files.ts'
import { counted } from '../../shared/text.ts'
import { FROM_INPUT } from '../terminal/input.ts'
import { interruptible } from '../terminal/interruption.ts'
import { jsonText, print, printJson, printJsonLines } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { InvalidInput } from '../terminal/refusals.ts'
import { OPERATOR, withServices } from '../with-services.ts'

export type ExportCommandOptions = { readonly withHashes?: true; readonly force?: true; readonly json?: true }

type Write = (users: readonly object[]) => Promise<void>

/** Exports all users, to a file or to standard output. */
export async function runExport(file: string | undefined, options: ExportCommandOptions): Promise<void> {
  const { withHashes = false, force = false, json } = options
  const isFile = file !== undefined && file !== FROM_INPUT
  if (isFile && isTaken(file) && !force) throw new InvalidInput([`${file} already exists; choose another file, or replace it with --force`])
  // A missing folder may be a disk that is not mounted, so it is not created.
  if (isFile && !existsSync(dirname(file))) throw new InvalidInput([`${dirname(file)} does not exist; create it or mount it first`])
  await withServices(async (services) => {
    const moved = createExport(services, OPERATOR.origin, { withHashes })
    if (!isFile) return void (await writeAll(moved, printJsonLines))
    const users = await writeFile(file, { mayReplace: force }, (write) => writeAll(moved, write))
    if (json) printJson({ file, users, with_hashes: withHashes })
    else print(`Exported ${counted(users, 'user')} to ${file}.${withHashes ? ' It contains password hashes: keep it secret.' : ''}`)
  })
}

/** Returns how many users it has written. */
async function writeAll(moved: Export, write: Write): Promise<number> {
  const total = await moved.begin()
  const progress = createProgress('exporting', { showsRate: true })
  let done = 0
  try {
    for await (const users of moved.pages()) {
      await write(users)
      done += users.length
      progress.update(done, total)
    }
  } finally {
    progress.clear()
  }
  return done
}

/** The file appears under its name when it is complete. */
async function writeFile(
  file: string,
  placing: { readonly mayReplace: boolean },
  work: (write: Write) => Promise<number>,
): Promise<number> {
  using draft = writing(file, () => createDraft(file))
  const count = await interruptible(
    (check) =>
      work(async (users) => {
        check()
        const text = users.map((user) => `${jsonText(user)}\n`).join('')
        writing(file, () => writeFileSync(draft.descriptor, text))
      }),
    `interrupted; ${file} was not written`,
  )
  writing(file, () => draft.place(placing))
  return count
}

function writing<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw new Error(`${file} was not written: ${explainSystemError(error)}`, { cause: error })
  }
}

import { writeFileSync } from 'node:fs'
import { createExport, type Export } from '../../domain/import/export.service.ts'
import { createDraft } from '../../shared/files.ts'
import { counted } from '../../shared/text.ts'
import { FROM_INPUT, requirePlaceFor } from '../terminal/input.ts'
import { interruptible } from '../terminal/interruption.ts'
import { type JsonOption, jsonText, printJsonLines, printResult } from '../terminal/output.ts'
import { createProgress } from '../terminal/progress.ts'
import { explaining } from '../terminal/refusals.ts'
import { OPERATOR, withServices } from '../with-services.ts'

export type ExportCommandOptions = JsonOption & { readonly withHashes?: true; readonly force?: true }

type Write = (users: readonly object[]) => Promise<void>

/** Exports all users, to a file or to standard output. */
export async function runExport(file: string | undefined, options: ExportCommandOptions): Promise<void> {
  const { withHashes = false, force = false } = options
  const isFile = file !== undefined && file !== FROM_INPUT
  if (isFile) requirePlaceFor(file, { mayReplace: force })
  await withServices(async (services) => {
    const moved = createExport(services, OPERATOR.origin, { withHashes })
    if (!isFile) return void (await writeAll(moved, printJsonLines))
    const users = await writeFile(file, { mayReplace: force }, (write) => writeAll(moved, write))
    const line = `Exported ${counted(users, 'user')} to ${file}.${withHashes ? ' It contains password hashes and the secrets of second factors: keep it secret.' : ''}`
    printResult(options, { file, users, with_hashes: withHashes }, line)
  })
}

/** Returns how many users it has written. */
async function writeAll(moved: Export, write: Write): Promise<number> {
  const total = await moved.begin()
  using progress = createProgress('exporting', { showsRate: true })
  let done = 0
  for await (const users of moved.pages()) {
    await write(users)
    done += users.length
    progress.update(done, total)
  }
  return done
}

/** The file appears under its name when it is complete. */
async function writeFile(
  file: string,
  placing: { readonly mayReplace: boolean },
  work: (write: Write) => Promise<number>,
): Promise<number> {
  const failure = `${file} was not written`
  using draft = explaining(failure, () => createDraft(file))
  const count = await interruptible(
    (check) =>
      work(async (users) => {
        check()
        const text = users.map((user) => `${jsonText(user)}\n`).join('')
        explaining(failure, () => writeFileSync(draft.descriptor, text))
      }),
    `interrupted; ${failure}`,
  )
  explaining(failure, () => draft.place(placing))
  return count
}

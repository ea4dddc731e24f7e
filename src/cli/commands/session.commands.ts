import type { Command } from 'commander'
import { counted } from '../../shared/text.ts'
import { USER_HINT, withUser } from '../bulk.ts'
import { addCommand } from '../terminal/input.ts'
import { JSON_OPTION, type JsonOption, printList, printResult } from '../terminal/output.ts'
import { SESSION_FORMAT, userLabel } from '../terminal/views.ts'
import { OPERATOR } from '../with-services.ts'

export function sessionCommands(program: Command): void {
  const session = addCommand(program, 'session', 'list and end the sessions of accounts')

  addCommand(session, 'list', 'list the live sessions of an account, newest first', { '<user>': USER_HINT })
    .option(...JSON_OPTION)
    .action((reference: string, options: JsonOption) =>
      withUser(reference, async ({ id }, { sessions }) => printList(SESSION_FORMAT, [await sessions.list(id)], options)),
    )

  addCommand(session, 'revoke', 'end one session of an account, or all of them; the user can log in again', {
    '<user>': USER_HINT,
    '[session-id]': 'the id of the session; without it, every session ends',
  })
    .option(...JSON_OPTION)
    .action(revokeSessions)
}

async function revokeSessions(reference: string, sessionId: string | undefined, options: JsonOption): Promise<void> {
  await withUser(reference, async (user, { sessions }) => {
    if (sessionId !== undefined) {
      await sessions.revoke(OPERATOR, user.id, sessionId)
      return printResult(options, { revoked: 1 }, `ended session ${sessionId} of ${userLabel(user)}`)
    }
    const revoked = await sessions.revokeAll(OPERATOR, user.id)
    printResult(options, { revoked }, `ended ${counted(revoked, 'session')} of ${userLabel(user)}`)
  })
}

import type { Command } from 'commander'
import { counted } from '../../shared/text.ts'
import { findUser, USER_HINT } from '../bulk.ts'
import { createPrinter, JSON_OPTION, onePage, print, printJson } from '../terminal/output.ts'
import { SESSION_FORMAT, userLabel } from '../terminal/views.ts'
import { OPERATOR, withServices } from '../with-services.ts'

type JsonOption = { readonly json?: true }

export function sessionCommands(program: Command): void {
  const session = program.command('session').description('list and end the sessions of accounts')

  session
    .command('list')
    .description('list the live sessions of an account, newest first')
    .argument('<user>', USER_HINT)
    .option(...JSON_OPTION)
    .action(listSessions)

  session
    .command('revoke')
    .description('end one session of an account, or all of them; the user can log in again')
    .argument('<user>', USER_HINT)
    .argument('[session-id]', 'the id of the session; without it, every session ends')
    .option(...JSON_OPTION)
    .action(revokeSessions)
}

async function listSessions(reference: string, { json }: JsonOption): Promise<void> {
  await withServices(async (services) => {
    const { id } = await findUser(services, reference)
    await createPrinter(SESSION_FORMAT, json === true).list(onePage(await services.sessions.list(id)))
  })
}

async function revokeSessions(reference: string, sessionId: string | undefined, { json }: JsonOption): Promise<void> {
  await withServices(async (services) => {
    const { sessions } = services
    const user = await findUser(services, reference)
    if (sessionId !== undefined) {
      await sessions.revoke(OPERATOR, user.id, sessionId)
      return json ? printJson({ revoked: 1 }) : print(`ended session ${sessionId} of ${userLabel(user)}`)
    }
    const revoked = await sessions.revokeAll(OPERATOR, user.id)
    if (json) printJson({ revoked })
    else print(`ended ${counted(revoked, 'session')} of ${userLabel(user)}`)
  })
}

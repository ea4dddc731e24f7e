import { threeAccounts } from '../../support/app/accounts.ts'
import { test } from '../../support/databases/databases.ts'
import { commandLine, done } from '../../support/processes/command-line.ts'

test('the columns of a table align when names have wide characters', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  await line.run(['user', 'edit', '2', '--first-name', '田中', '--last-name', '🔑'])
  await line.run(['user', 'edit', '3', '--first-name', 'Ce\u0301m'])
  done(
    await line.run(['user', 'list']),
    [
      'ID  EMAIL            FIRST NAME  LAST NAME  ROLE   STATE',
      '1   Ada@example.com  Ada         Ünal       admin  verified',
      '2   Bob@example.com  田中        🔑         user   verified',
      '3   Cem@example.com  Ce\u0301m         Can        user   verified',
      '',
    ].join('\n'),
  )
})

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test as plainTest } from 'node:test'
import { fileURLToPath } from 'node:url'
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

test('a name that reverses the writing direction is shown escaped, and JSON has it as it is', async (t) => {
  const line = await commandLine(t)
  await threeAccounts(line)
  const name = '\u202enimda'
  await line.run(['user', 'edit', '3', '--first-name', name])
  const shown = await line.run(['user', 'show', '3'])
  assert.equal(shown.stdout.split('\n')[1], '3   Cem@example.com  \\u202enimda  Can        user  verified            none')
  for (const command of ['show 3', 'list', 'search nimda', 'export']) {
    const args = ['user', ...command.split(' '), ...(command === 'export' ? [] : ['--json'])]
    const { code, stdout } = await line.run(args)
    assert.deepEqual([code, stdout.includes('"first_name":"\\u202enimda"'), stdout.includes(name)], [0, true, false], command)
  }
})

const SOURCES = fileURLToPath(new URL('../../../src', import.meta.url))

/** The files that may name an output of the process, and why what they write is safe. */
const WRITERS = {
  'cli/bin.cts': 'runs before the rest can be loaded, and prints the version of Node.js',
  'cli/terminal/ask.ts': 'hands the terminal to readline, with an escaped question',
  'cli/terminal/output.ts': 'escapes everything',
  'main.ts': 'escapes each line',
  'process/serve.ts': 'escapes each line',
  'process/start.ts': 'prints the welcome, whose lines are escaped',
  'storage/maintenance/upgrade/sqlite-trial.process.ts': 'writes to the process that has started it',
}

// The lint rule noConsole forbids the console.
const OUTPUT = /\bprocess\b.*\bstd(?:out|err)\b|\bstd(?:out|err)\b.*\bprocess\b|['"]node:(?:process|tty)|\/dev\/(?:fd|std|tty)/

plainTest('text reaches standard output and standard error only through files that escape it', () => {
  const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
  const writers = globSync('**/*.{ts,cts}', { cwd: SOURCES }).filter((file) =>
    OUTPUT.test(withoutComments(readFileSync(`${SOURCES}/${file}`, 'utf8'))),
  )
  assert.deepEqual(writers.sort(), Object.keys(WRITERS).sort())
})

#!/usr/bin/env node
import { Command } from 'commander'
import { generateSecretKey } from '../security/secret-key.ts'

const program = new Command('latchkey').description('Manage a Latchkey service from the command line')

program
  .command('secret')
  .description('secrets of the service')
  .command('generate')
  .description('print a new value for SECRET_KEY')
  .action(() => {
    process.stdout.write(`${generateSecretKey()}\n`)
  })

await program.parseAsync()

import { test } from 'node:test'
import { startProcess } from '../support/processes/service-process.ts'

// Whatever formats a number or a date makes Node load the data of a locale.
const WITHOUT_FORMATS = `data:text/javascript,
  const refuse = (name) => function () { throw new Error(name + ' at the start') }
  for (const name of Object.getOwnPropertyNames(Intl)) if (typeof Intl[name] === 'function') Intl[name] = refuse(name)
  for (const type of [Number, BigInt, Date]) type.prototype.toLocaleString = refuse('toLocaleString')`

const WITHOUT_PACKAGES = `data:text/javascript,
  import { registerHooks } from 'node:module'
  const refused = ['nodemailer', 'postal-mime', 'postgres', '@node-rs/bcrypt', '@simplewebauthn/server', 'openid-client', 'commander']
  registerHooks({
    resolve(name, context, next) {
      if (refused.includes(name)) throw new Error(name + ' at the start')
      return next(name, context)
    },
  })`

function importing(module: string): Record<string, string> {
  return { NODE_OPTIONS: `--import "${encodeURI(module).replaceAll('"', '%22')}"` }
}

test('a start loads no locale: the data of one takes 6 MB and 20 ms', async (t) => {
  await startProcess(t, importing(WITHOUT_FORMATS))
})

test('a start on SQLite loads no package that only some services need: nodemailer alone takes 25 MB and 200 ms', async (t) => {
  await startProcess(t, importing(WITHOUT_PACKAGES))
})

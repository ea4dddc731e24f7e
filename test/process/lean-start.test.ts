import { test } from 'node:test'
import { startProcess } from '../support/processes/service-process.ts'

// Whatever formats a number or a date makes Node load the data of a locale.
const WITHOUT_FORMATS = `data:text/javascript,
  const refuse = (name) => function () { throw new Error(name + ' at the start') }
  for (const name of Object.getOwnPropertyNames(Intl)) if (typeof Intl[name] === 'function') Intl[name] = refuse(name)
  for (const type of [Number, BigInt, Date]) type.prototype.toLocaleString = refuse('toLocaleString')`

test('a start loads no locale: the data of one takes 6 MB and 20 ms', async (t) => {
  await startProcess(t, { NODE_OPTIONS: `--import "${encodeURI(WITHOUT_FORMATS).replaceAll('"', '%22')}"` })
})
